/*
 * The lock core for one key in write mode: guard, grant with a lease, steal, commit, renew, release, and what the next
 * taker of the guard does after a crash or a power cut. README.md says what is left out and what each variant breaks.
 *
 * One transition is one step that a crash cannot split. Between two steps the process may die, its operation may fail,
 * its lease may run out, or the power may go.
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
#define BLOCK 2 /* fence numbers reserved at once */
#define FENCES (CLIENTS * ROUNDS + CUTS * BLOCK + 2)

/* The number is in the text that the verifier prints, so that a failure names its property. ONLY looks at one. */
#ifdef ONLY
#define CHECK(property, holds) assert((holds) || property != ONLY || property == 0)
#else
#define CHECK(property, holds) assert((holds) || property == 0)
#endif
#define FENCES_INCREASE 1 /* in the order of granting, over crashes and power cuts too */
#define ONE_GRANT 2       /* at most one committed grant has not ended */
#define CURRENT_ONLY 3    /* only the current, unexpired grant commits or is renewed */
#define NO_LOST_UPDATE 4  /* the value counts every accepted increment, so every acknowledged one */
#define AUDIT_COMPLETE 5  /* every grant and every end has its entry, and the files say what the audit says */
#define NOT_TAKEN_AWAY 6  /* a grant is ended by its owner, or when it is expired or its process is dead */
/* 7, no waiter is stuck for good, is the verifier's own check for invalid end states. */

/* ---- On disk ---- */

typedef File {
  byte owner; /* 0: there is no such file */
  bool expired;
  bool dead /* the owner's process is gone: what the liveness check would find */
}
File file[FENCES]; /* grant files, named by their fence */
byte files;        /* how many there are */

/* The audit, cut down to what matters: the grant without an end, the fence of the last grant, and the last entry. */
byte audit_live;
byte audit_last; /* used after a power cut only */
byte entry_grant; /* of an entry that the head does not cover yet: what it grants and what it ends */
byte entry_end;

byte head_fence;    /* the last fence given out */
bool head_old_boot; /* the head was written before the last power cut */
byte reserved;      /* synced before any fence up to it is used, so it outlives a power cut */
byte value;         /* what the lock protects; the caller's write is taken to be atomic and durable */

/* ---- The system ---- */

byte guard;                  /* the client that has it, or 0 */
bool hit[CLIENTS + 1];       /* the client must drop what it is doing ... */
bool died[CLIENTS + 1];      /* ... because its process died, not because its operation failed */
bool answering[CLIENTS + 1]; /* has written and not been told so yet */

/* ---- For the properties only ---- */

byte last_granted; /* outlives everything */
byte written;      /* accepted increments */
byte acknowledged; /* increments whose caller was told */
byte uncertain;    /* increments whose caller died or got an error instead */

byte i; /* scratch within one step, 0 between steps */

#define RECOVERABLE(f) (file[f].expired || file[f].dead)
#define CAN_EXPIRE(f) (file[f].owner != 0 && !file[f].expired)

inline put(f) {
  files = files + (file[f].owner == 0);
  file[f].owner = me;
  file[f].expired = false;
  file[f].dead = false
}

inline remove(f) {
  files = files - (file[f].owner != 0);
  file[f].owner = 0;
  file[f].expired = false;
  file[f].dead = false
}

/* The lowest fence that has a file, or 0. */
inline look(f) {
  i = 1;
  do
  :: i < FENCES && file[i].owner == 0 -> i++
  :: else -> break
  od;
  f = (i < FENCES -> i : 0);
  i = 0
}

/* Exactly the grant that the audit calls live has a file. Holds whenever no guarded operation is half done. */
inline check_settled() {
  CHECK(AUDIT_COMPLETE, files == (audit_live != 0));
  CHECK(AUDIT_COMPLETE, audit_live == 0 || file[audit_live].owner != 0)
}

/* ---- Steps under the guard ---- */

/* The commit point of a grant. A steal ends the old grant in the same entry; otherwise `ends` is 0. */
inline append_grant(f, ends) {
  d_step {
    CHECK(FENCES_INCREASE, f > last_granted);
    CHECK(ONE_GRANT, audit_live == ends);
    CHECK(NOT_TAKEN_AWAY, ends == 0 || RECOVERABLE(ends));
    last_granted = f;
    audit_live = f;
    entry_grant = f;
    entry_end = ends
  }
}

inline append_end(f) {
  d_step {
    CHECK(AUDIT_COMPLETE, f != 0 && f == audit_live);
    CHECK(NOT_TAKEN_AWAY, file[f].owner == me || RECOVERABLE(f));
    audit_live = 0;
    entry_grant = 0;
    entry_end = f
  }
}

/* Marks the last entry as applied. `f` is 0 when it grants nothing. */
inline write_head(f) {
  d_step {
#ifdef COUNTER_IN_RECORD
    head_fence = f; /* the counter goes away with the record */
#else
    head_fence = (f != 0 -> f : head_fence);
#endif
    entry_grant = 0;
    entry_end = 0
  }
}

inline remove_ended(f) {
  if
  :: f != 0 -> d_step { remove(f) }
  :: else
  fi
}

/* The head covers an entry only after the files show it: what the head covers is never looked at again. */
inline apply(grants, ends) {
#ifdef HEAD_FIRST
  write_head(grants);
  remove_ended(ends)
#else
  remove_ended(ends);
  write_head(grants)
#endif
}

/* Any number up to the end of the reserved block may have been given out before the power cut. */
inline restart_head() {
  d_step {
#ifdef NO_RESERVE
    head_fence = (audit_last > head_fence -> audit_last : head_fence);
#else
    head_fence = reserved;
#endif
    head_old_boot = false;
    audit_last = 0;
    entry_grant = 0;
    entry_end = 0
  }
}

/* After a power cut any unsynced write may be missing, so neither the head nor a file proves anything. */
inline recover_from_cut() {
#ifdef CUT_LIKE_CRASH
  restart_head()
#else
  if
  :: audit_live != 0 -> audit_live = 0 /* appends the end of a grant whose process cannot be alive */
  :: else
  fi;
  do
  :: files != 0 -> d_step { look(old); remove(old); old = 0 }
  :: else -> restart_head(); break
  od
#endif
}

#ifdef NO_REPLAY
#define HALF_DONE head_old_boot
#else
#define HALF_DONE (head_old_boot || entry_grant != 0 || entry_end != 0 || file[head_fence + 1].owner != 0)
#endif

/* A grant file above the last committed fence was written, but never committed. */
inline remove_uncommitted() {
  if
  :: file[head_fence + 1].owner != 0 -> d_step { remove(head_fence + 1) }
  :: else
  fi
}

/* A crash may stop this too; doing it again from the start must end the same. */
inline replay() {
  if
  :: head_old_boot -> recover_from_cut()
  :: else
  fi;
#ifdef NO_REPLAY
  true
#else
#ifdef CLEAN_FIRST
  remove_uncommitted();
#endif
  if
  :: entry_grant != 0 || entry_end != 0 -> apply(entry_grant, entry_end)
  :: else
  fi;
  remove_uncommitted()
#endif
}

/* Whoever takes the guard first settles what its last holder left half done, then looks for a grant. */
inline take_guard() {
  if
  :: d_step { guard == 0 && !HALF_DONE -> guard = me; late = file[mine].expired; check_settled(); look(old) }
  :: d_step { guard == 0 && HALF_DONE -> guard = me; late = file[mine].expired };
    replay();
    d_step { check_settled(); look(old) }
  fi
}

inline free_guard() {
  check_settled();
  guard = 0;
  late = false;
  old = 0
}

/* ---- A process that uses the lock ---- */

/* By the fence alone: a file with that number is the grant that got it, because no number is given out twice. */
#ifdef IGNORE_EXPIRY
#define STILL_MINE (file[mine].owner != 0)
#else
#define STILL_MINE (file[mine].owner != 0 && !file[mine].expired)
#endif

active [CLIENTS] proctype Client() {
  byte me = _pid + 1;
  byte rounds = ROUNDS;
  byte mine; /* the fence it believes to hold, or 0 */
  byte old;  /* the grant it found */
  byte seen; /* the value it read */
  bool late; /* the lease had run out before the guard was taken */

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
    :: head_fence + 1 > reserved -> reserved = reserved + BLOCK
    :: else
    fi;
    d_step { put(head_fence + 1) };
#ifdef AUDIT_AFTER
    apply(head_fence + 1, old);
    append_grant(head_fence, old);
    write_head(head_fence);
#else
    append_grant(head_fence + 1, old);
    apply(entry_grant, entry_end);
#endif
    d_step { free_guard(); mine = head_fence };

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
      d_step { free_guard() };
      d_step { put(mine) }
#else
      d_step { CHECK(CURRENT_ONLY, mine == audit_live && !late); put(mine) };
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
      :: seen = value /* read inside the commit */
      :: true         /* or use what was read at the start */
      fi;
      d_step {
        CHECK(CURRENT_ONLY, mine == audit_live && !late);
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
    atomic { file[old].owner == 0 -> old = 0; goto acquire };
#else
    atomic { file[old].owner == 0 || RECOVERABLE(old) -> old = 0; goto acquire };
#endif

leaving:
    if
    :: atomic { seen = 0; mine = 0; goto next } /* forgets it; the lease has to run out */
    :: seen = 0; take_guard()
    fi;
    if
#ifdef RELEASE_UNCONDITIONAL
    :: old != 0 -> append_end(old); apply(0, old)
#else
    :: old == mine -> append_end(mine); apply(0, mine)
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
  :: i < FENCES -> file[i].dead = file[i].dead || file[i].owner == c; i++
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
  :: d_step { CAN_EXPIRE(audit_live) -> file[audit_live].expired = true }
  :: d_step { CAN_EXPIRE(entry_end) -> file[entry_end].expired = true } /* ended, but its file is still there */
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
        head_old_boot = true;
        entry_grant = 0;
        entry_end = 0
      };
      /* Of what was not synced, any part may be missing: grant files, the end of the audit, the head. The audit may
         end at any earlier grant; numbers that were never granted are among those, which only adds cases. */
      c = 1;
      do
      :: c < FENCES && file[c].owner == 0 -> c++
      :: c < FENCES && file[c].owner != 0 -> d_step { remove(c); c++ }
      :: c < FENCES && file[c].owner != 0 -> c++
      :: c == FENCES -> break
      od;
      if
      :: file[last_granted].owner == 0 && last_granted > 0 -> /* a removal that did not last */
        files++;
        file[last_granted].owner = 1;
        file[last_granted].dead = true
      :: true
      fi;
      if
      :: audit_last = last_granted
      :: last_granted > 0 && audit_live == 0 -> audit_last = last_granted; audit_live = last_granted
      :: last_granted > 0 ->
        select(c : 0 .. last_granted - 1);
        audit_last = c;
        if
        :: audit_live = audit_last
        :: audit_live = 0
        fi
      fi;
      if
      :: head_fence = 0
      :: true
      fi;
      c = 0
    }
  :: timeout ->
    CHECK(NO_LOST_UPDATE, value == acknowledged + uncertain);
    break
  od
}
