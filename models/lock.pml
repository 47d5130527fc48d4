/*
 * The protocol of the file store for one key in write mode: guard, tree.json as the commit point, node files written
 * from `pending`, fence reservations, leases, takeover, commit through the fence, release with a hand-over, and the
 * repair that the next step does after a crash or a power cut. Each part names the function of src/ that it abstracts.
 * README.md says what is left out and what each broken variant shows.
 *
 * One transition is one step that a crash cannot split. Between two steps the process may die, its operation may fail,
 * a lease may run out, or the power may go.
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
#define FAILS 0
#endif
#ifndef CUTS /* power cuts */
#define CUTS 0
#endif
#ifndef BELOW /* 1: the key lies below the tree's own key, so that a detached grant has a file of its own */
#define BELOW 0
#endif
#ifndef DETACHED /* 1: a client may also take detached grants, which outlive their process and the machine */
#define DETACHED 0
#endif
#ifndef STRICT /* 1: the profile `strict`, in which only proof of death ends a grant */
#define STRICT 0
#endif
#ifndef DELETES /* times that the guard file is deleted */
#define DELETES 0
#endif
#ifndef RESUMES /* expired leases that are resumed */
#define RESUMES 1
#endif
#define FIRST 1 /* FIRST_BLOCK */
#define BLOCK 2 /* FENCE_BLOCK */

/* The number is in the text that the verifier prints, so that a failure names its property. ONLY looks at one. */
#ifdef ONLY
#define CHECK(property, holds) assert((holds) || property != ONLY || property == 0)
#else
#define CHECK(property, holds) assert((holds) || property == 0)
#endif
#define FENCES_INCREASE 1 /* in the order of granting, over crashes and power cuts too */
#define ONE_GRANT 2       /* a grant is committed only when the one before has ended, or ends in the same step */
#define CURRENT_ONLY 3    /* only the holder of the current grant writes, and it was unexpired under the guard */
#define NO_LOST_UPDATE 4  /* the value counts every accepted increment */
#define RECORD_WHOLE 5    /* after the repair the record shows the current grant, and the audit has what is counted */
#define NOT_TAKEN_AWAY 6  /* a grant is ended by its owner, or when it is expired or its process is dead */
/* 7, no waiter is stuck for good, is the verifier's own check for invalid end states. */
#define CUT_SURVIVED 8    /* a power cut leaves an acknowledged detached grant, its entry, and its release */
#define STAYS_USABLE 9    /* no crash and no power cut leaves a tree that a person has to mend */
#define STOLEN_STAYS_ENDED 10 /* a detached grant that another client took over is not back after a power cut */

/*
 * A grant is known by its lock id and its token hash (newGrant, findOwn). Here both are one number. Each request has
 * one token and four numbers, one for each grant that can have this token: 0 by acquire, 1 by acquire and detached,
 * 2 by a hand-over, 3 by a second hand-over to a place in line that a crash left.
 */
#define REQUEST(c, round, detached) (((c - 1) * ROUNDS + round) * 4 + detached)
#define IS_DETACHED(g) (g > 3 && g % 4 == 1)
#define OWNER(g) ((g / 4 - 1) / ROUNDS + 1)
#define ROUND(g) ((g / 4 - 1) % ROUNDS + 1)
#define SAME_TOKEN(g, h) (g > 3 && g / 4 == h / 4)
#define GRANTS ((CLIENTS * ROUNDS + 1) * 4)

/* ---- On disk: what processes see, and what a power cut leaves of it ---- */

#define NO_FILE 1 /* as `pending`: the node file goes */

typedef Page { /* TreeRecord */
  bool there;
  bool old;      /* boot_id is that of an earlier boot */
  byte fence;
  byte reserved; /* fence_reserved */
  byte kept;     /* grants: the one in tree.json */
  byte pending;  /* what the node file will hold; 0 when there is nothing to do */
  bool lasts;    /* and that this must survive a power cut, as the release of a detached grant must */
  bool below;    /* the node file has a grant */
  bool synced    /* the audit is on the disk as far as this page counts it */
}
Page page;     /* tree.json */
Page disk;     /* the version of it that is surely on the disk; all zero when no power cut can come any more */
byte unsynced; /* since then: 1 written in place, 2 replaced by a file that is on the disk, but not under its name */
byte node;     /* the grant in the node file */
byte node_disk;
bool node_unsynced;
byte mark; /* fence.json */
byte mark_disk;
byte floor_from; /* floor.json, always synced */
byte floor_to;
bool floor_old;

/* The audit file: entries it has beyond those that tree.json counts, and what a power cut did to it. */
short extra;
bool chain_short;    /* it ends before the end that tree.json counts */
byte chain_left;     /* where tree.json was lost: 0 nothing, 1 a chain that calls nothing held, 2 one that does */
byte chain_high;     /* where tree.json was lost: the highest token in the chain */
bool chain_touched;  /* it was written since the machine started */

/* ---- The system ---- */

/* The guard file. A kernel lock belongs to a file, not to a name: the first file is 1, one made in its place 2. */
byte lock[3];          /* by file: the client that has its kernel lock, or 0 */
byte inside[3];        /* by file: the same once it has compared the file with the name */
#if DELETES > 0
byte named = 1;        /* the file that the name stands for, or 0 */
byte fd[CLIENTS + 1];  /* the file that a client has open, or 0 */
#define MY_GUARD fd[me]
#else
#define MY_GUARD 0
#endif

byte used[CLIENTS + 1];   /* acquires begun */
byte born[CLIENTS + 1];   /* acquires begun by processes of this client that have died */
byte ticket[CLIENTS + 1]; /* line.jsonl: the grant that a waiter asks for; no part of any commit */
bool expired[GRANTS];
bool hit[CLIENTS + 1];    /* the client must drop what it is doing ... */
bool died[CLIENTS + 1];   /* ... because its process died, not because its operation failed */
byte cuts = CUTS;
byte resumes = RESUMES;

byte value; /* what the lock protects; the caller's own write is taken to be atomic and durable */

/* ---- For the properties only ---- */

byte current;       /* the last committed grant that has not ended */
byte last_granted;  /* the highest fencing token that was ever on record */
byte written;       /* accepted increments */
byte owed;          /* the detached grant that was acknowledged and has not ended */
byte over[GRANTS];  /* what ended this detached grant, once that was acknowledged: RELEASE or ACQUIRE */
bool after_cut;     /* no step has repaired what the last power cut left */

byte i; /* scratch within one step, 0 between steps */

#define IS_DEAD(g) (g > 3 && !IS_DETACHED(g) && ROUND(g) <= born[OWNER(g)])

/* probeLife: the kernel lock on the proof file tells. A pid tells nothing once another process has it. */
#if defined(PID_REUSED)
#define SEEN_DEAD(g) false
#elif defined(PID_UNSEEN)
#define SEEN_DEAD(g) (!IS_DETACHED(g) && OWNER(g) != me)
#else
#define SEEN_DEAD(g) IS_DEAD(g)
#endif

/* recoverable */
#if STRICT
#define RECOVERABLE(g) SEEN_DEAD(g)
#define MAY_END(g) IS_DEAD(g)
#elif defined(WAIT_FOR_RELEASE)
#define RECOVERABLE(g) false
#define MAY_END(g) false
#else
#define RECOVERABLE(g) (expired[g] || SEEN_DEAD(g))
#define MAY_END(g) (expired[g] || IS_DEAD(g))
#endif

/* keptNear and NodeFiles.around: a node can be in both places after a power cut. */
#define KEPT page.kept
#define FILED (page.pending != 0 -> (page.pending == NO_FILE -> 0 : page.pending) : (page.below -> node : 0))
/* FileTree.peek, then LedgerRecords.near */
#define IS_HELD (page.there && !IS_DETACHED(want) && (SAME_TOKEN(KEPT, want) || SAME_TOKEN(FILED, want)))
#define HELD (SAME_TOKEN(KEPT, want) -> KEPT : FILED)
#define IN_THE_WAY(g) (g != 0 && !RECOVERABLE(g)) /* findObstacles */

inline copy(to, from) {
  to.there = from.there;
  to.old = from.old;
  to.fence = from.fence;
  to.reserved = from.reserved;
  to.kept = from.kept;
  to.pending = from.pending;
  to.lasts = from.lasts;
  to.below = from.below;
  to.synced = from.synced
}

inline clear(to) {
  to.there = 0;
  to.old = 0;
  to.fence = 0;
  to.reserved = 0;
  to.kept = 0;
  to.pending = 0;
  to.lasts = 0;
  to.below = 0;
  to.synced = 0
}

/* The operations: acquire, renew, Fence.commit, release, resume, leave. */
#define ACQUIRE 1
#define RENEW 2
#define COMMIT 3
#define RELEASE 4
#define RESUME 5
#define LEAVE 6

/* ---- Writing tree.json ---- */

/* BlockFile.#overwrite: one write of one page. The version before it may have reached the disk meanwhile. */
inline may_have_been_flushed() {
  if
  :: unsynced != 0 -> copy(disk, page)
  :: true
  fi
}

inline note_unsynced(how) {
  unsynced = (cuts > 0 -> how : 0)
}

/* replaceFile and syncFolder: the end of a durable write. */
inline page_is_on_disk() {
  if
  :: cuts > 0 -> copy(disk, page)
  :: else
  fi;
  unsynced = 0
}

/* outlivesMachine: a record with a detached grant, or one that takes its place, is never written over in place. */
#ifdef DETACHED_IN_PLACE
#define MUST_REPLACE(before, after, durable) false
#else
#define MUST_REPLACE(before, after, durable) (durable || IS_DETACHED(before) || IS_DETACHED(after))
#endif

/* The content that a step gives the page (stepAfter, withPending); `filed` as `place` has it. */
inline set_page() {
  page.there = true;
  page.old = false;
  page.fence = fence;
  page.reserved = reserved;
  page.kept = (filed -> 0 : next);
#if defined(NO_PENDING) || defined(FILE_FIRST)
  page.pending = 0;
#else
  page.pending = (filed -> (next == 0 -> NO_FILE : next) : 0);
  page.lasts = filed && durable;
#endif
  page.below = (filed -> next != 0 : below);
#ifdef TAKEOVER_KEEPS_OLD
  page.below = (op == ACQUIRE && kept_was != 0 -> 1 : page.below);
  node = (op == ACQUIRE && kept_was != 0 -> kept_was : node)
#endif
}

/* The commit point: what others see has changed. `op` says what it is. */
inline commit_point() {
  if
  :: op == ACQUIRE || op == RESUME || (op == RELEASE && next != 0) ->
    CHECK(FENCES_INCREASE, fence > last_granted);
    last_granted = (fence > last_granted -> fence : last_granted)
  :: else
  fi;
  if
  :: op == ACQUIRE ->
    CHECK(ONE_GRANT, current == 0 || current == kept_was || current == filed_was);
    CHECK(NOT_TAKEN_AWAY, current == 0 || MAY_END(current))
  :: op == RELEASE ->
    CHECK(ONE_GRANT, current == gone);
    CHECK(NOT_TAKEN_AWAY, current == 0 || MAY_END(current) || OWNER(current) == me);
    /* The ticket is still there; another grant to it would be another grant. */
    assert(next % 4 != 3 || ticket[OWNER(next)] != next);
    ticket[OWNER(next)] = (SAME_TOKEN(ticket[OWNER(next)], next) -> next : ticket[OWNER(next)])
  :: op == RESUME ->
    CHECK(ONE_GRANT, current == mine)
  :: op == RENEW ->
    CHECK(CURRENT_ONLY, current == next && !late)
  :: else
  fi;
  owed = (owed == current && current != next -> 0 : owed);
  /* A detached grant that was stolen stays expired, should a power cut bring it back. */
#ifndef TAKEOVER_KEEPS_OLD
  expired[current] = expired[current] && IS_DETACHED(current) && op == ACQUIRE;
#endif
  expired[next] = false;
  expired[0] = false;
  current = next
}

/* ---- The beginning of a step ---- */

/* FileTree.#finish: node files from `pending`, then tree.json without it. Doing it again changes nothing. */
inline write_node(content, durable) {
  node_disk = (cuts == 0 -> 0 : (durable -> content : node_disk));
  node_unsynced = (cuts > 0 && !durable);
  node = content
}

inline finish() {
  d_step {
    i = (page.pending == NO_FILE -> 0 : page.pending);
    write_node(i, (page.lasts || IS_DETACHED(i)));
    i = 0
  };
  if
  :: MUST_REPLACE(page.pending, 0, false) ->
    d_step { page.pending = 0; page.lasts = false; note_unsynced(2) };
    d_step { page_is_on_disk() }
  :: else -> atomic { may_have_been_flushed(); page.pending = 0; page.lasts = false; note_unsynced(1) }
  fi
}

/* FileTree.#goOn: the entry that says that the chain was mended, and the record with it, on the disk. */
inline commit_note() {
  d_step {
#ifndef LOSS_NOT_NOTED
    chain_left = (chain_left == 2 -> 1 : chain_left); /* endAllBut */
#endif
    chain_touched = CUTS > 0;
    extra = 0
  };
  d_step { page.synced = true; disk.synced = (cuts > 0 && disk.there) };
  d_step {
    page.there = true;
    page.old = false;
    page.fence = fence;
    page.reserved = reserved;
    page.below = node != 0;
    page.synced = true;
    note_unsynced(2)
  };
  d_step { page_is_on_disk(); chain_short = false; chain_left = 0; chain_high = 0 }
}

/* FenceFloor.startOfNewTree; the clock is taken to stand still, which is the worst case. */
inline start_of_new_tree() {
#ifndef NO_FLOOR
  if
  :: floor_to == 0 -> floor_to = FIRST
  :: floor_to != 0 && floor_old -> d_step { floor_from = floor_to; floor_to = floor_to + FIRST; floor_old = false }
  :: else
  fi
#else
  true
#endif
}

/* assertNothingForgotten: E_STORE_CORRUPT */
#define IS_FORGOTTEN (chain_left == 2 && chain_touched)
#define NEEDS_REPAIR (!page.there || page.old || page.pending != 0 || extra > 0)

/* FileTree.load. A crash may stop this too; doing it again from the start must end the same. */
inline load() {
  if
  :: !page.there -> /* beginning */
    if
    :: IS_FORGOTTEN -> CHECK(STAYS_USABLE, false); d_step { leave() }; goto idle
    :: d_step { !IS_FORGOTTEN && mark != 0 -> fence = (mark > chain_high -> mark : chain_high); reserved = mark }
    :: !IS_FORGOTTEN && mark == 0 ->
      start_of_new_tree();
      d_step {
        fence = (floor_from > chain_high -> floor_from : chain_high);
        reserved = (chain_high > 0 -> fence : fence + FIRST)
      }
    fi;
    if
    :: chain_left != 0 -> commit_note()
    :: else -> is_new = true
    fi
  :: page.there ->
    if
    :: page.pending != 0 -> finish()
    :: else
    fi;
    if
    :: page.old -> /* restarted */
      d_step {
#ifdef RESTART_FROM_PAGE
        fence = page.fence;
        reserved = page.reserved;
#else
        fence = (page.fence > page.reserved -> page.fence : page.reserved);
        fence = (fence > mark -> fence : mark);
        reserved = fence;
#endif
        extra = 0
      };
      if
      :: chain_short -> commit_note()
      :: !chain_short && MUST_REPLACE(page.kept, 0, false) ->
        d_step {
          page.old = false;
          page.fence = fence;
          page.reserved = reserved;
          page.below = node != 0;
          note_unsynced(2)
        };
        d_step { page_is_on_disk() }
      :: !chain_short && !MUST_REPLACE(page.kept, 0, false) ->
        atomic {
          may_have_been_flushed();
          d_step {
            page.old = false;
            page.fence = fence;
            page.reserved = reserved;
            page.below = node != 0;
            note_unsynced(1)
          }
        }
      fi
    :: else ->
      d_step {
        fence = page.fence;
        reserved = page.reserved;
        extra = (extra > 0 -> 0 : extra) /* FileTree.#cutTail */
      }
    fi
  fi
}

/* FileTree.near: the grants that the step finds once all is repaired. */
inline loaded() {
  below = (is_new -> node != 0 : page.below);
  kept_was = KEPT;
  filed_was = (below -> node : 0);
  /* The only node that is in both places is one of which a power cut brought a part back. */
  if
  :: after_cut ->
    after_cut = false;
    current = (owed != 0 -> owed : (IS_DETACHED(kept_was) || filed_was == 0 -> kept_was : filed_was))
  :: else -> CHECK(RECORD_WHOLE, current == 0 || current == kept_was || current == filed_was)
  fi;
  CHECK(RECORD_WHOLE, current != 0 || (kept_was == 0 && filed_was == 0));
  CHECK(RECORD_WHOLE, extra == 0);
  CHECK(CUT_SURVIVED, owed == 0 || owed == kept_was || owed == filed_was);
  CHECK(CUT_SURVIVED, over[kept_was] != RELEASE && over[filed_was] != RELEASE);
  CHECK(STOLEN_STAYS_ENDED, over[kept_was] != ACQUIRE && over[filed_was] != ACQUIRE)
}

/* ---- The guard ---- */

/* openFile: it makes the file where there is none. */
#define OPEN_GUARD named = (named == 0 -> 2 : named); fd[me] = named

/* Guard.tryEnter. Entering and loading are one transition where there is nothing to repair. */
inline enter() {
#if DELETES > 0
  do
  :: atomic { MY_GUARD == 0 -> OPEN_GUARD }
  :: atomic { MY_GUARD != 0 && lock[MY_GUARD] == 0 -> lock[MY_GUARD] = me }; /* tryLockExclusive */
    if                                                                       /* isThisFile */
#ifdef GUARD_NOT_COMPARED
    :: d_step { inside[MY_GUARD] = me }; break
#else
    :: d_step { MY_GUARD == named -> inside[MY_GUARD] = me }; break
    :: d_step { MY_GUARD != named -> lock[MY_GUARD] = 0; OPEN_GUARD }
#endif
    fi
  od;
  atomic { late = expired[mine] };
#else
  d_step { lock[0] == 0 -> lock[0] = me; inside[0] = me; late = expired[mine] };
#endif
  if
  :: d_step { !NEEDS_REPAIR -> fence = page.fence; reserved = page.reserved; loaded() }
  :: NEEDS_REPAIR -> load(); d_step { loaded() }
  fi
}

inline forget_step() {
  op = 0;
  next = 0;
  gone = 0;
  fence = 0;
  reserved = 0;
  kept_was = 0;
  filed_was = 0;
  base = 0;
  is_new = false;
  below = false;
  filed = false;
  durable = false;
  late = false
}

/* Guard.leave. A step that changes nothing ends with it too. */
inline leave() {
  lock[MY_GUARD] = (lock[MY_GUARD] == me -> 0 : lock[MY_GUARD]);
  inside[MY_GUARD] = (inside[MY_GUARD] == me -> 0 : inside[MY_GUARD]);
  forget_step()
}

/* ---- A process that uses the lock ---- */

/* handedTo */
#define IS_HANDED(g) (SAME_TOKEN(g, want) && !expired[g])
#define HANDED (IS_HANDED(kept_was) || IS_HANDED(filed_was))
#define FOUND(g) (g != 0 && (kept_was == g || filed_was == g)) /* findOwn */
#ifdef IGNORE_EXPIRY
#define STILL_MINE FOUND(mine)
#else
#define STILL_MINE (FOUND(mine) && !expired[mine]) /* requireOwn, requireWriter */
#endif

#define HEIR(t) (t % 4 == 0 -> t + 2 : t / 4 * 4 + 3)

/* handOver: any ticket may be passed over, for it may have lapsed or its place may have got lost. */
inline hand_over() {
  if
  :: true
  :: kept_was == 0 || filed_was == 0 ->
    select(i : 1 .. CLIENTS);
    next = (SAME_TOKEN(ticket[i], gone) || ticket[i] == 0 -> 0 : HEIR(ticket[i])); /* isLeftIn, inherited */
    i = 0
  fi
}
#ifdef HEIR_KEEPS_FENCE
#define HEIR_IS_CHEAP (op == RELEASE)
#else
#define HEIR_IS_CHEAP false
#endif

/* place: into a file goes a node that has one already, or that outlives the machine. */
inline place() {
  filed = BELOW && (filed_was != 0 || IS_DETACHED(next))
}

active [CLIENTS] proctype Client() {
  byte me = _pid + 1;
  byte want; /* the grant it asks for */
  byte mine; /* the grant it believes to hold, or 0 */
  byte seen; /* the value it read */
  byte op;   /* the operation under way, or 0 */
  /* In a step, all 0 between steps: */
  bool late;      /* the lease had run out when the guard was taken */
  byte fence;     /* the last number given out */
  byte base;      /* the same before this step */
  byte reserved;
  bool is_new;    /* there is no tree.json yet */
  bool below;     /* record.below */
  byte kept_was;  /* what was found in tree.json */
  byte filed_was; /* and in the node file */
  byte next;      /* the grant that will be on record */
  byte gone;      /* the grant that is released */
  bool filed;     /* it goes into the node file */
  bool durable;   /* Changes.durable */

life:
  {
    /* Another process goes on with a detached grant: it has the token. */
    atomic {
      want = 0;
      if
      :: mine != 0 -> seen = value; goto hold
      :: else
      fi;
ready:
      if
      :: used[me] == ROUNDS -> goto idle
      :: else -> used[me]++
      fi;
      if
      :: want = REQUEST(me, used[me], 0)
#if DETACHED
      :: want = REQUEST(me, used[me], 1)
#endif
      fi
    };

ask: /* acquire */
    op = ACQUIRE;
step: /* FileLedger.transact */
    enter();
    if
    :: d_step { op == ACQUIRE && HANDED -> /* takeUp */
        mine = (IS_HANDED(kept_was) -> kept_was : filed_was);
        op = RENEW;
        next = mine
      }
    :: d_step { op == ACQUIRE && !HANDED && (IN_THE_WAY(kept_was) || IN_THE_WAY(filed_was)) ->
        ticket[me] = (IS_DETACHED(want) || STRICT -> 0 : want); /* standInLine, bidOf */
        leave()
      };
      if
      :: goto waiting
      :: goto giving_up
      fi
    :: d_step { op == ACQUIRE && !HANDED && !IN_THE_WAY(kept_was) && !IN_THE_WAY(filed_was) ->
        next = want; /* decide: a grant that is there is recoverable, and ends in this step */
#ifdef STEAL_NOT_SYNCED
        durable = IS_DETACHED(want)
#else
        durable = IS_DETACHED(want) || IS_DETACHED(kept_was) || IS_DETACHED(filed_was) /* durabilityOf */
#endif
      }
    /* renew, requireOwn */
    :: d_step { op == RENEW && STILL_MINE -> next = mine; durable = IS_DETACHED(mine) }
    :: d_step { op == RENEW && !STILL_MINE -> leave() }; goto letting_go
    /* Fence.commit, requireWriters */
    :: op == COMMIT && STILL_MINE -> goto committing
#ifdef NO_FENCE_CHECK
    :: op == COMMIT && !STILL_MINE -> goto committing
#else
    :: d_step { op == COMMIT && !STILL_MINE -> leave() }; goto letting_go
#endif
    /* release */
#ifdef RELEASE_UNCONDITIONAL
    :: atomic { op == RELEASE && current != 0 -> gone = current; durable = IS_DETACHED(gone); hand_over() }
    :: d_step { op == RELEASE && current == 0 -> leave(); seen = 0; mine = 0 }; goto ready
#else
    :: atomic { op == RELEASE && FOUND(mine) -> gone = mine; durable = IS_DETACHED(mine); hand_over() }
    :: d_step { op == RELEASE && !FOUND(mine) -> leave(); seen = 0; mine = 0 }; goto ready
#endif
    /* resume */
    :: d_step { op == RESUME && FOUND(mine) -> next = mine; durable = IS_DETACHED(mine) }
    :: d_step { op == RESUME && !FOUND(mine) -> leave(); seen = 0; mine = 0 }; goto ready
    /* leave */
    :: d_step { op == LEAVE -> ticket[me] = 0; leave() }; goto left
    fi;
#ifdef STEAL_TWO_STEPS
    if
    :: op == ACQUIRE && current != 0 ->
      d_step { lock[MY_GUARD] = 0; inside[MY_GUARD] = 0 };
      d_step { lock[MY_GUARD] == 0 -> lock[MY_GUARD] = me; inside[MY_GUARD] = me }
    :: else
    fi;
#endif
#ifdef RENEW_UNGUARDED
    if
    :: op == RENEW -> d_step { lock[MY_GUARD] = 0; inside[MY_GUARD] = 0 }
    :: else
    fi;
#endif

    /* FileTree.mint: a number is reserved on the disk before it is used. */
    if
    :: next != 0 && op != RENEW && !HEIR_IS_CHEAP && fence >= reserved ->
      mark = fence + BLOCK;
#ifndef RESERVE_NOT_SYNCED
      mark_disk = mark;
#endif
      d_step { base = fence; reserved = mark; fence++; place() }
    :: d_step { next != 0 && op != RENEW && !HEIR_IS_CHEAP && fence < reserved -> base = fence; fence++; place() }
    :: d_step { next == 0 || op == RENEW || HEIR_IS_CHEAP -> base = fence; place() }
    fi;

    /* FileTree.#appendAudit: a tree begins with its record. A renewal has no entry. */
    if
    :: op != RENEW ->
      if
      :: is_new ->
        atomic {
          may_have_been_flushed();
          d_step {
            page.there = true;
            page.fence = base;
            page.reserved = reserved;
            page.below = below;
            page.synced = true;
            is_new = false;
            note_unsynced(1)
          }
        }
      :: else
      fi;
#ifndef AUDIT_AFTER
      d_step { extra++; chain_touched = CUTS > 0 };
#ifndef AUDIT_NOT_SYNCED
      if
      :: durable -> d_step { page.synced = true; disk.synced = (cuts > 0 && disk.there) }
      :: else
      fi
#endif
#endif
    :: else
    fi;

#ifdef FILE_FIRST
    if
    :: filed -> d_step { write_node(next, durable) }
    :: else
    fi;
#endif

    /* FileTree.commit: THE COMMIT, one write of tree.json. */
    if
    :: MUST_REPLACE(page.kept, next, durable) ->
      d_step {
        set_page();
        extra = (op == RENEW -> extra : extra - 1);
#ifdef AUDIT_NOT_SYNCED
        page.synced = false;
#else
        page.synced = page.synced && (durable || op == RENEW);
#endif
        commit_point();
        note_unsynced(2)
      };
      d_step { page_is_on_disk() }
    :: else ->
      atomic {
        may_have_been_flushed();
        d_step {
          set_page();
          extra = (op == RENEW -> extra : extra - 1);
          page.synced = page.synced && (durable || op == RENEW);
          commit_point();
          note_unsynced(1)
        }
      }
    fi;
#ifdef AUDIT_AFTER
    if
    :: op != RENEW -> extra++
    :: else
    fi;
#endif

    /* FileTree.takeOver */
#ifdef NO_PENDING
    if
    :: filed -> d_step { write_node(next, durable) }
    :: else
    fi;
#else
    if
    :: page.pending != 0 -> finish()
    :: else
    fi;
#endif

    /* writeTickets, Guard.leave, and the answer. A waiter with a hand-over may have seen it since the commit. */
    if
    :: d_step { op == RELEASE ->
        i = 1;
        do
        :: i <= CLIENTS && (SAME_TOKEN(ticket[i], gone) || SAME_TOKEN(ticket[i], next)) -> ticket[i] = 0; i++
        :: i <= CLIENTS && !(SAME_TOKEN(ticket[i], gone) || SAME_TOKEN(ticket[i], next)) -> i++
        :: else -> break
        od;
        i = 0;
        over[mine] = (IS_DETACHED(mine) && gone == mine && cuts > 0 -> RELEASE : 0);
        leave();
        seen = 0;
        mine = 0
      };
      goto ready
    :: d_step { op == RESUME || (op == RENEW && want == 0) -> leave() };
      goto hold
    :: d_step { op == RENEW && want != 0 -> ticket[me] = 0; leave() }
    :: d_step { op == ACQUIRE ->
        ticket[me] = 0;
        mine = want;
        owed = (IS_DETACHED(mine) -> mine : owed);
        over[kept_was] = (IS_DETACHED(kept_was) && cuts > 0 -> ACQUIRE : 0);
        over[filed_was] = (IS_DETACHED(filed_was) && cuts > 0 -> ACQUIRE : 0);
        leave()
      }
    fi;

taken:
    atomic { want = 0; seen = value }; /* may happen long after the grant was lost */
hold: /* renew, Fence.commit, resume, in any order and at any time */
    do
    :: atomic { op == 0 -> op = RENEW; goto step }
    :: atomic { op == 0 -> op = COMMIT; goto step }
    :: atomic { resumes > 0 && expired[mine] -> resumes--; op = RESUME; goto step }
    :: goto letting_go
    od;

letting_go:
    if
#if !STRICT
    :: atomic { seen = 0; mine = 0; goto ready } /* forgets it: the lease has to run out */
#endif
    :: atomic { op = RELEASE; goto step }
    fi;

committing: /* Fence.commit: the caller's function runs before the guard is left */
#ifdef CHECK_OUTSIDE_GUARD
    atomic { lock[MY_GUARD] = 0; inside[MY_GUARD] = 0 };
#endif
    if
    :: seen = value /* read inside the commit */
    :: true         /* or use what was read at the start */
    fi;
    d_step {
      CHECK(CURRENT_ONLY, mine == current && !late);
      value = seen + 1;
      written++;
      CHECK(NO_LOST_UPDATE, value == written)
    };
    d_step { leave() };
    goto letting_go;

waiting:
    if /* a run that ends here has a waiter that is never woken */
    :: atomic { IS_HELD -> mine = HELD; goto taken } /* Locks.handed */
    :: atomic { !IN_THE_WAY(KEPT) && !IN_THE_WAY(FILED) -> goto ask } /* its poll */
    fi;

giving_up: /* its time is over: it leaves the line, looks, and releases */
    op = LEAVE;
    goto step;
left:
    atomic {
      if
      :: IS_HELD -> mine = HELD; want = 0; op = RELEASE; goto step
      :: else -> want = 0; goto ready
      fi
    };

idle:
end:
    false
  } unless {
    atomic {
      hit[me] ->
      hit[me] = false;
      mine = (died[me] && !IS_DETACHED(mine) -> 0 : mine);
      died[me] = false;
      seen = 0;
      forget_step();
      goto life
    }
  }
}

/* ---- Crashes, power cuts, time ---- */

/* The operation stops where it is, and the system or the code frees the guard. */
inline stop(c) {
  hit[c] = true;
#if DELETES > 0
  lock[1] = (lock[1] == c -> 0 : lock[1]);
  lock[2] = (lock[2] == c -> 0 : lock[2]);
  inside[1] = (inside[1] == c -> 0 : inside[1]);
  inside[2] = (inside[2] == c -> 0 : inside[2])
#else
  lock[0] = (lock[0] == c -> 0 : lock[0]);
  inside[0] = (inside[0] == c -> 0 : inside[0])
#endif
}

/* The kernel frees the guard and the proof of life. */
inline kill(c) {
  died[c] = true;
  born[c] = used[c];
#if DELETES > 0
  fd[c] = 0;
#endif
  stop(c)
}

/* Every process dies. Of what was not synced, any part may be missing, or older than it was. */
inline cut_power() {
  d_step {
    i = 1;
    do
    :: i <= CLIENTS -> kill(i); ticket[i] = 0; i++ /* ticketStands */
    :: else -> break
    od;
    i = 0;
    extra = 0;
    floor_old = true;
    chain_touched = false;
    after_cut = true;
    mark = mark_disk
  };
  /* tree.json: as it was seen, an older version, or torn. */
  if
  :: true
  :: unsynced != 0 && disk.there -> copy(page, disk)
  :: unsynced == 1 && disk.there -> d_step { page.fence = disk.fence; page.reserved = disk.reserved } /* parts of two */
  :: unsynced == 1 && disk.there -> page.kept = disk.kept
  :: unsynced == 1 || (unsynced == 2 && !disk.there) || !page.there -> /* FileTree.#read: none that can be read */
    if
    :: last_granted == 0
    :: last_granted != 0 && page.synced -> chain_left = 2; chain_high = last_granted
    :: last_granted != 0 && page.synced -> chain_left = 1; chain_high = last_granted
    :: last_granted != 0 && !page.synced -> chain_left = 0; chain_high = 0
    :: last_granted != 0 && !page.synced -> chain_left = 1; chain_high = last_granted
    :: last_granted != 0 && !page.synced -> chain_left = 2; chain_high = last_granted
    fi;
    clear(page)
  fi;
  /* The audit: an entry may be missing that the page counts. */
  if
  :: page.there && !page.synced -> chain_short = true; CHECK(CUT_SURVIVED, owed == 0)
  :: true
  fi;
  /* NodeFiles.#removeTorn: a file that tore held no grant that outlives the machine. */
  if
  :: true
  :: node_unsynced -> node = node_disk
  :: node_unsynced -> node = 0
  fi;
  d_step {
    page.old = page.there;
    page.synced = page.there;
    clear(disk);
    node_disk = 0;
    if
    :: cuts > 0 -> copy(disk, page); node_disk = node
    :: else
    fi;
    unsynced = 0;
    node_unsynced = false
  }
}

active proctype World() {
  byte kills = KILLS;
  byte fails = FAILS;
  byte deletes = DELETES;
  byte c;

end:
  do
  :: d_step { current != 0 && !expired[current] -> expired[current] = true }
  :: atomic { kills > 0 -> kills--; select(c : 1 .. CLIENTS); d_step { kill(c); c = 0 } }
  :: d_step { fails > 0 && inside[0] != 0 -> fails--; c = inside[0]; stop(c); c = 0 }
  :: atomic { cuts > 0 -> cuts--; cut_power() }
#if DELETES > 0
#ifdef GUARD_DELETED_INSIDE
  :: d_step { deletes > 0 && named == 1 -> deletes--; named = 0 }
#else
  :: d_step { deletes > 0 && named == 1 && inside[1] == 0 -> deletes--; named = 0 }
#endif
#endif
  od
}
