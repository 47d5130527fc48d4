/*
 * The lock core for one key in write mode: guard, grant with a lease, steal, commit, renew, release, and what the next
 * taker of the guard does after a crash or a power cut. README.md says what is left out and what each variant breaks.
 *
 * One transition is one step that a crash cannot split. Between two steps the process may die, its operation may fail,
 * its lease may run out, or the power may go.
 *
 * Without DEEP the key is the tree's own, and its grant is part of the tree's record. With DEEP it lies below, and its
 * grant has a file of its own, written behind the record that announces it.
 */

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef ROUNDS /* acquires that each client starts */
#define ROUNDS 2
#endif
#ifndef KILLS /* processes that die */
#define KILLS 1
#endif
#ifndef FAILS /* operations that stop half way with an error while their process lives on */
#define FAILS 1
#endif
#ifndef CUTS /* power cuts */
#define CUTS 1
#endif
#ifndef DEEP
#define DEEP 0
#endif
#define BLOCK 2 /* fence numbers reserved at once */
#define FENCES (CLIENTS * ROUNDS + CUTS * BLOCK + 2)
#define NONE 255
#define TORN 254

/* The number is in the text that the verifier prints, so that a failure names its property. ONLY looks at one. */
#ifdef ONLY
#define CHECK(property, holds) assert((holds) || property != ONLY || property == 0)
#else
#define CHECK(property, holds) assert((holds) || property == 0)
#endif
#define FENCES_INCREASE 1 /* in the order of granting, over crashes and power cuts too */
#define ONE_GRANT 2       /* a grant begins only where none is, or in the step that ends the one there */
#define CURRENT_ONLY 3    /* only the current, unexpired grant commits or is renewed */
#define NO_LOST_UPDATE 4  /* the value counts every accepted increment, so every acknowledged one */
#define AUDIT_COMPLETE 5  /* what is on record is what the audit says */
#define NOT_TAKEN_AWAY 6  /* a grant is ended by its owner, or when it is expired or its process is dead */
/* 7, no waiter is stuck for good, is the verifier's own check for invalid end states. */

/* ---- On disk ---- */

/* The record of the tree. All of it is one write. */
byte fence;          /* the last number given out */
byte grant;          /* the fence of the grant on record, or 0 */
byte pending = NONE; /* DEEP: what the file of the node is to say */
bool old_boot;       /* the record was written before the last power cut */

byte node; /* DEEP: the fence that the file of the node names, 0 for no file, TORN while it is being written */

/* The audit, cut down to what matters: the grant without an end. */
byte live;        /* by the entries that the record counts */
byte tail = NONE; /* by one more entry that stands behind them and is not counted */
bool hole;        /* an entry that the record counts is not there */
bool unnoted;     /* a power cut took entries or the record, and the audit does not say so */

byte reserved; /* synced before any fence up to it is used, so it outlives a power cut */
byte value;    /* what the lock protects; the caller's write is taken to be atomic and durable */

/* Part of the grant on record; kept by fence, because a fence names a grant for good. */
typedef Lease {
  byte owner;
  bool expired;
  bool dead /* the owner's process is gone: what the liveness check would find */
}
Lease lease[FENCES];

/* ---- The system ---- */

byte guard;                  /* the client that has it, or 0 */
bool hit[CLIENTS + 1];       /* the client must drop what it is doing ... */
bool died[CLIENTS + 1];      /* ... because its process died, not because its operation failed */
bool answering[CLIENTS + 1]; /* has written and not been told so yet */

/* ---- For the properties only ---- */

byte last_granted; /* outlives everything */
byte before_last;  /* the grant on record before the last commit: what a power cut may bring back */
byte cut_off;      /* the last grant before the last power cut: up to here no holder is left */
byte written;      /* accepted increments */
byte acknowledged; /* increments whose caller was told */
byte uncertain;    /* increments whose caller died or got an error instead */

byte i; /* scratch within one step, 0 between steps */

#if DEEP
#define HELD node
#else
#define HELD grant
#endif
#define TO_BE_FOUND (pending != NONE -> pending : HELD) /* by whoever takes the guard next */
#define RECOVERABLE(f) (lease[f].expired || lease[f].dead)
#define CAN_EXPIRE(f) (lease[f].owner != 0 && !lease[f].expired)

/* Holds whenever no guarded operation is half done. A power cut may leave a dead grant on record that the audit does not
   know any more, or the other way round: record and entries reach the disk on their own. */
#define AS_THE_AUDIT_SAYS(f) ((f) == live || ((f) <= cut_off && live <= cut_off))
inline check_settled() {
  CHECK(AUDIT_COMPLETE, AS_THE_AUDIT_SAYS(HELD) && !hole && !unnoted && pending == NONE && !old_boot)
}

/* ---- Steps under the guard ---- */

/* What an entry says is decided by what follows it in the same step: a grant begins, or one ends. */
inline check_change(to) {
  CHECK(FENCES_INCREASE, to == 0 || to > last_granted);
  CHECK(ONE_GRANT, to == 0 || AS_THE_AUDIT_SAYS(old));
  CHECK(AUDIT_COMPLETE, to != 0 || AS_THE_AUDIT_SAYS(old));
  CHECK(NOT_TAKEN_AWAY, old == 0 || (to == 0 && lease[old].owner == me) || RECOVERABLE(old));
  last_granted = (to != 0 -> to : last_granted);
  if
  :: to != 0 -> lease[to].owner = me; lease[to].expired = false; lease[to].dead = false
  :: else
  fi
}

/* THE COMMIT: chain head, fence and grant in one write. */
inline write_record(to) {
  d_step {
    check_change(to);
    before_last = HELD;
#ifdef COUNTER_IN_RECORD
    fence = to; /* the counter goes away with the grant */
#else
    fence = (to != 0 -> to : fence);
#endif
    live = tail;
    tail = NONE;
#if DEEP
    pending = to
#else
    grant = to
#endif
  }
}

inline write_node(to) {
  node = TORN;
  node = to
}

/* Afterwards nobody looks at what was pending any more. */
inline finish() {
#if DEEP
#ifdef CLEAR_FIRST
  d_step { i = pending; pending = NONE; after = i; i = 0 };
  write_node(after);
#else
  write_node(pending);
  pending = NONE;
#endif
#endif
  after = 0
}

/* One step of the store: the held grant becomes `to`, a new one or none. */
inline change(to) {
#ifdef NODE_FIRST
  write_node(to);
#endif
#ifdef AUDIT_AFTER
  d_step { hole = true; tail = to; write_record_now(to) };
  hole = false;
#else
  tail = to; /* append the entry behind the counted end */
#ifdef SPLIT_COMMIT
  d_step { live = tail; tail = NONE };
  d_step { tail = to; live = old; write_record_now(to) };
#else
  write_record(to);
#endif
#endif
#ifdef NODE_FIRST
  pending = NONE;
#else
  finish();
#endif
  skip
}

/* The same as write_record, inside somebody else's step. */
inline write_record_now(to) {
  check_change(to);
  before_last = HELD;
  fence = (to != 0 -> to : fence);
  live = tail;
  tail = NONE;
#if DEEP
  pending = to
#else
  grant = to
#endif
}

/*
 * After a power cut any unsynced write may be missing. Numbers go on behind the reserved block. When the chain is shorter
 * than the record counts, or there is no record, that goes into the audit by the very write that mends it.
 */
inline mend() {
#ifdef MEND_TWO_STEPS
  d_step { mended_fence(); hole = false; old_boot = false };
  unnoted = false
#else
  if
  :: unnoted -> tail = live /* append the note: it neither grants nor ends */
  :: else
  fi;
  d_step { mended_fence(); hole = false; unnoted = false; old_boot = false; tail = NONE }
#endif
}

inline mended_fence() {
#ifdef NO_RESERVE
  skip
#else
  fence = (reserved > fence -> reserved : fence)
#endif
}

#ifdef NO_REDO
#define HALF_DONE (old_boot || pending != NONE)
#else
#define HALF_DONE (old_boot || pending != NONE || tail != NONE)
#endif

/* A crash may stop this too; doing it again from the start must end the same. */
inline repair() {
#if DEEP
  if
  :: pending != NONE ->
#ifdef NO_REDO
    pending = NONE
#else
    finish()
#endif
  :: else
  fi;
#endif
  if
  :: old_boot ->
#ifdef CUT_LIKE_CRASH
    old_boot = false
#else
    mend()
#endif
  :: else
  fi;
  if
#ifdef TAIL_COUNTS
  :: tail != NONE -> d_step { live = tail; tail = NONE }
#else
  :: tail != NONE -> tail = NONE
  :: tail != NONE -> skip /* who knows the record as it is need not look; the next entry is written over it */
#endif
  :: else
  fi
}

/* Whoever takes the guard first settles what its last holder left half done, then looks for a grant. */
inline take_guard() {
  if
  :: d_step { guard == 0 && !HALF_DONE -> guard = me; late = lease[mine].expired; check_settled(); old = HELD }
  :: d_step { guard == 0 && HALF_DONE -> guard = me; late = lease[mine].expired };
    repair();
    d_step { check_settled(); old = HELD }
  fi
}

inline free_guard() {
  check_settled();
  guard = 0;
  late = false;
  old = 0
}

/* ---- A process that uses the lock ---- */

/* By the fence alone: a record of that number is the grant that got it, because no number is given out twice. */
#ifdef IGNORE_EXPIRY
#define STILL_MINE (old == mine)
#else
#define STILL_MINE (old == mine && !lease[mine].expired)
#endif

active [CLIENTS] proctype Client() {
  byte me = _pid + 1;
  byte rounds = ROUNDS;
  byte mine;  /* the fence it believes to hold, or 0 */
  byte old;   /* the grant it found */
  byte seen;  /* the value it read */
  byte fresh; /* the fence it is about to get */
  byte after; /* scratch */
  bool late;  /* the lease had run out before the guard was taken */
#ifdef RENEW_UNGUARDED
  byte copied;
#endif

life:
  {
    atomic {
      if
      :: mine != 0 -> goto leaving /* its operation failed: all it may still do is let go */
      :: else
      fi;
next:
      if
      :: rounds == 0 -> goto idle
      :: else -> rounds--
      fi
    };

acquire:
    take_guard();
    atomic {
      if
      :: old != 0 && !RECOVERABLE(old) -> d_step { check_settled(); guard = 0; late = false }; goto conflict
      :: else
      fi
    };
#ifdef STEAL_TWO_STEPS
    guard = 0;
    d_step { guard == 0 && !HALF_DONE -> guard = me };
#endif
    if
    :: fence + 1 > reserved -> reserved = fence + BLOCK
    :: else
    fi;
    d_step { fresh = fence + 1 };
    change(fresh);
    d_step { mine = fresh; fresh = 0; free_guard() };

    seen = value; /* may happen long after the grant was lost */
    do
    :: /* renew */
      take_guard();
      atomic {
        if
        :: STILL_MINE
        :: else -> free_guard(); goto leaving
        fi
      };
#ifdef RENEW_UNGUARDED
      d_step { copied = fence; free_guard() };
      d_step { fence = copied; grant = mine; live = mine; lease[mine].expired = false; copied = 0 }
#else
      d_step {
        CHECK(CURRENT_ONLY, mine == live && !late);
        lease[mine].expired = false;
#if DEEP
        pending = mine
#endif
      };
      finish();
      d_step { free_guard() }
#endif

    :: /* commit */
      take_guard();
#ifndef NO_FENCE_CHECK
      atomic {
        if
        :: STILL_MINE
        :: else -> free_guard(); goto leaving
        fi
      };
#endif
#ifdef CHECK_OUTSIDE_GUARD
      d_step { free_guard() };
#endif
      if
      :: seen = value /* reads inside the commit */
      :: true         /* or use what was read at the start */
      fi;
      d_step {
        CHECK(CURRENT_ONLY, mine == live && !late);
        value = seen + 1;
        written++;
        answering[me] = true;
        CHECK(NO_LOST_UPDATE, value == written)
      };
      d_step {
#ifndef CHECK_OUTSIDE_GUARD
        free_guard();
#endif
        answering[me] = false;
        acknowledged++
      };
      goto leaving

    :: goto leaving
    od;

conflict: /* waits for the grant it met; a run that ends here has a waiter that is never woken */
#ifdef WAIT_FOR_RELEASE
    atomic { TO_BE_FOUND != old -> old = 0; goto acquire };
#else
    atomic { TO_BE_FOUND != old || RECOVERABLE(old) -> old = 0; goto acquire };
#endif

leaving:
    if
    :: atomic { seen = 0; mine = 0; goto next } /* forgets it; the lease has to run out */
    :: seen = 0; take_guard()
    fi;
    if
#ifdef RELEASE_UNCONDITIONAL
    :: old != 0 -> change(0)
#else
    :: old == mine -> change(0)
#endif
    :: else
    fi;
    atomic { free_guard(); mine = 0; goto next };

idle:
end:
    false
  } unless {
    atomic {
      hit[me] ->
      hit[me] = false;
      mine = (died[me] -> 0 : mine);
      died[me] = false;
      old = 0;
      seen = 0;
      fresh = 0;
      after = 0;
      late = false;
      goto life
    }
  }
}

/* ---- What happens to them ---- */

/* The operation stops where it is, and the system frees the guard. */
inline stop(c) {
  hit[c] = true;
  uncertain = uncertain + answering[c];
  answering[c] = false;
  guard = (guard == c -> 0 : guard) /* last, for `c` may be the guard */
}

inline kill(c) {
  died[c] = true;
  i = 1;
  do
  :: i < FENCES -> lease[i].dead = lease[i].dead || lease[i].owner == c; i++
  :: else -> break
  od;
  i = 0;
  stop(c)
}

active proctype World() {
  byte kills = KILLS;
  byte fails = FAILS;
  byte cuts = CUTS;
  byte c;

end:
  do
  :: d_step { CAN_EXPIRE(live) -> lease[live].expired = true }
  :: atomic { kills > 0 -> kills--; select(c : 1 .. CLIENTS); d_step { kill(c); c = 0 } }
  :: d_step { fails > 0 && guard != 0 -> fails--; stop(guard) }
  :: atomic {
      cuts > 0 -> cuts--;
      d_step {
        c = 1;
        do
        :: c <= CLIENTS -> kill(c); c++
        :: else -> break
        od;
        c = 0;
        old_boot = true;
        cut_off = last_granted;
        tail = NONE
      };
      /* Of what was not synced, any part may be missing. The record is the last one, the one before it (and with it the
         end of the chain that it counts), or none; the end of the chain may be missing under it; the file of the node is
         the last one, the one before it, none, or torn, and then removed by whoever finds it. */
      if
      :: true
      :: pending == NONE -> grant = (DEEP -> grant : before_last); live = before_last; fence = 0
      :: grant = 0; pending = NONE; fence = 0; unnoted = true
      fi;
      if
      :: true
      :: hole = true; unnoted = true
      fi;
#if DEEP
      if
      :: node != TORN
      :: node = before_last
      :: node = 0
      fi
#endif
    }
  :: timeout ->
    CHECK(NO_LOST_UPDATE, value == acknowledged + uncertain);
    break
  od
}
