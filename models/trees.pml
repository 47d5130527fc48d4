/*
 * One step on two trees: all of it happens or nothing. Each tree's record announces what it will become; creating the
 * file of the decision is the commit; then each tree takes its part over, and the file goes. Whoever takes a guard
 * settles what is announced there by looking for the decision. README.md says what each variant breaks.
 *
 * One transition is one step that a crash cannot split. Between two steps the process may die, and any file operation may
 * fail while the process lives on.
 */

#ifndef CLIENTS /* each works on both trees, then on one of them alone */
#define CLIENTS 2
#endif
#ifndef STEPS /* steps on both trees that each client starts */
#define STEPS 1
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef FAILS /* file operations that fail */
#define FAILS 1
#endif
#define TREES 2
#define IDS (CLIENTS * STEPS + 1)
#define BIT(id) (1 << ((id) - 1))

#ifdef ONLY
#define CHECK(property, holds) assert((holds) || property != ONLY || property == 0)
#else
#define CHECK(property, holds) assert((holds) || property == 0)
#endif
#define ALL_OR_NOTHING 1 /* inside its guard and repaired, a tree shows a step if, and only if, it was decided */
#define TOLD_IS_DONE 2   /* what a caller was told has happened, for good */
#define TIDY 3           /* at the end, a decision that is left can be settled and removed, and none is needed */

/* ---- On disk ---- */

byte done[TREES];     /* the steps that the record of the tree shows, a bit each */
byte announced[TREES]; /* the step whose outcome it waits for, or 0 */
bool decision[IDS];   /* ops/<id>.json */

/* ---- The system ---- */

byte guard[TREES]; /* who has it, or 0 */
byte fails = FAILS;
byte ids;

/* ---- For the properties only ---- */

byte decided; /* outlives everything */
byte told;

inline check(t) {
  CHECK(ALL_OR_NOTHING, announced[t] == 0 && done[t] == decided);
  CHECK(TOLD_IS_DONE, (told & ~done[t]) == 0)
}

/* Settles what is announced in the tree. Looking, and writing the record, may each fail: then it stays announced. */
inline settle(t) {
  if
  :: announced[t] == 0
  :: announced[t] != 0 ->
    if
#ifdef NO_DECISION
    :: isMade = true /* to be announced is enough */
#else
    :: isMade = decision[announced[t]]
#endif
#ifdef FAILED_LOOK_IS_NO
    :: d_step { fails > 0 -> fails--; isMade = false }
#else
    :: d_step { fails > 0 -> fails--; failed = true }
#endif
    fi;
    if
    :: failed
    :: d_step { !failed -> done[t] = (isMade -> done[t] | BIT(announced[t]) : done[t]); announced[t] = 0 }
    :: d_step { !failed && fails > 0 -> fails--; failed = true }
    fi;
    isMade = false
  fi
}

inline free(t) {
  guard[t] = (guard[t] == me -> 0 : guard[t])
}

bool dying[CLIENTS + 2];

proctype Client(byte me) {
  byte steps = STEPS;
  byte id;
  byte t;
  bool isMade;
  bool failed; /* a file operation of this step */
  bool isLeft; /* the first tree has not taken its part over */

  {
    do
    :: steps > 0 ->
      steps--;
      atomic { guard[0] == 0 && guard[1] == 0 -> guard[0] = me; guard[1] = me };
      settle(0);
      settle(1);
      if
      :: failed -> goto over
      :: d_step { !failed -> check(0); check(1); ids++; id = ids }
      fi;
      if
      :: announced[0] = id
      :: atomic { fails > 0 -> fails--; goto over }
      fi;
      if
      :: announced[1] = id
      :: atomic { fails > 0 -> fails--; goto over }
      fi;
      if
      :: d_step { decision[id] = true; decided = decided | BIT(id) } /* THE COMMIT */
      :: atomic { fails > 0 -> fails--; goto over }
      fi;
      settle(0);
      isLeft = failed;
      failed = false;
      settle(1);
#ifdef FORGET_EARLY
      decision[id] = false;
#else
      if
      :: isLeft || failed
      :: !isLeft && !failed -> decision[id] = false
      fi;
#endif
      told = told | BIT(id);
over:
      skip;
      d_step { id = 0; isLeft = false; failed = false; free(0); free(1) }
    :: steps == 0 -> break
    od;

    /* A step on one tree alone. */
    if
    :: t = 0
    :: t = 1
    fi;
    atomic { guard[t] == 0 -> guard[t] = me };
    settle(t);
    if
    :: failed
    :: d_step { !failed -> check(t) }
    fi;
    d_step { free(t); t = 0; failed = false }
  } unless {
    d_step { dying[me] -> free(0); free(1) }
  }
}

/* Whoever opens the store goes inside all trees of each decision that is left, and then removes it. */
proctype Opener(byte me) {
  byte id = 1;
  bool isMade;
  bool failed;

  do
  :: id < IDS && !decision[id] -> id++
  :: id < IDS && decision[id] ->
#ifdef LEFT_UNSETTLED
    decision[id] = false;
#else
    atomic { guard[0] == 0 && guard[1] == 0 -> guard[0] = me; guard[1] = me };
    settle(0);
    settle(1);
    if
    :: failed
#ifdef NEVER_FORGET
    :: !failed
#else
    :: !failed -> decision[id] = false
#endif
    fi;
    d_step { failed = false; free(0); free(1) };
#endif
    id++
  :: id == IDS -> break
  od
}

init {
  byte kills = KILLS;
  byte c;

  atomic {
    c = 1;
    do
    :: c <= CLIENTS -> run Client(c); c++
    :: else -> break
    od;
    run Opener(c);
    c = 0
  };
  do
  :: atomic { kills > 0 -> kills--; select(c : 1 .. CLIENTS); d_step { dying[c] = true; c = 0 } }
  :: timeout -> break
  od;

  /* Everybody is gone. One more opens the store, on a disk that works. */
  atomic { fails = 0; run Opener(CLIENTS + 1) };
  timeout;
  d_step {
    CHECK(TIDY, !decision[1] && (IDS < 3 || !decision[IDS - 1]));
    CHECK(TIDY, (announced[0] == 0 || !(decided & BIT(announced[0]))) && (announced[1] == 0 || !(decided & BIT(announced[1]))));
    CHECK(ALL_OR_NOTHING, done[0] == decided && done[1] == decided)
  }
}
