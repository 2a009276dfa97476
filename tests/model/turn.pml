/*
The turn: one holder at a time, and no waiter sleeps for ever while it is free.

Stands for
  engine/turn.*   Turn: try_acquire, acquire_until, give_back
  engine/futex.*  futex_wait, which sleeps only if the word is as expected; futex_wake of one

Thread 0 has a deadline, which may come at any moment of its wait; the others wait for ever.
A wake-up may meet a waiter whose deadline has come already: it is used up all the same.

check holds  safety
check breaks safety BROKEN_LAST_TRY_IS_NOT_AWAITED -> invalid end state
check breaks safety BROKEN_WAITER_ACQUIRES_AS_HELD -> invalid end state
check breaks safety BROKEN_GIVE_BACK_IN_TWO_STEPS -> invalid end state
check breaks safety BROKEN_SLEEPS_WITHOUT_A_LOOK -> invalid end state
*/

#define THREADS 3
#define TURNS 2   /* of each thread */

#define kFree 0
#define kHeld 1
#define kAwaited 2

byte state = kFree;
bool is_asleep[THREADS];
byte holders;

/* Wakes one of those that sleep, whichever. */
inline futex_wake() {
  if
  :: d_step { is_asleep[0] -> is_asleep[0] = false }
  :: d_step { is_asleep[1] -> is_asleep[1] = false }
  :: d_step { is_asleep[2] -> is_asleep[2] = false }
  :: !is_asleep[0] && !is_asleep[1] && !is_asleep[2]
  fi
}

inline exchange(next) {
  d_step { before = state; state = next }
}

inline acquire() {
  has_it = false;
  d_step {
    if
    :: state == kFree -> state = kHeld; has_it = true
    :: else
    fi
  };
  do
  :: has_it -> break
  :: !has_it ->
#ifdef BROKEN_WAITER_ACQUIRES_AS_HELD
    d_step { before = state; state = (state == kFree -> kHeld : kAwaited) };
#else
    exchange(kAwaited);
#endif
    if
    :: before == kFree -> has_it = true
    :: else ->
#ifdef BROKEN_SLEEPS_WITHOUT_A_LOOK
      is_asleep[me] = true;
#else
      d_step { is_asleep[me] = state == kAwaited };
#endif
      if
      :: !is_asleep[me]
      :: me == 0 -> is_asleep[me] = false
      fi;
      if
      :: me != 0
      :: me == 0              /* the deadline has not come */
      :: me == 0 ->           /* it has: one last try */
#ifdef BROKEN_LAST_TRY_IS_NOT_AWAITED
        d_step {
          before = state;
          state = (state == kFree -> kHeld : state)
        };
#else
        exchange(kAwaited);
#endif
        has_it = before == kFree;
        break
      fi
    fi
  od;
  before = 0
}

inline give_back() {
#ifdef BROKEN_GIVE_BACK_IN_TWO_STEPS
  before = state;
  state = kFree;
#else
  exchange(kFree);
#endif
  if
  :: before == kAwaited -> futex_wake()
  :: else
  fi;
  before = 0
}

active [THREADS] proctype Thread() {
  byte me = _pid;
  byte left = TURNS;
  byte before;
  bool has_it;

  do
  :: left > 0 ->
    left--;
    acquire();
    if
    :: has_it ->
      holders++;
      assert(holders == 1);
      holders--;
      give_back()
    :: else
    fi
  :: left == 0 -> break
  od
}
