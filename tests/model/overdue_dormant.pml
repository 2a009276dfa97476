/*
Overdue and dormant: a handler call that takes too long is always reported, once: the watch does
not stay dormant while one runs.

Stands for
  engine/overdue_watch.cpp   OverdueWatch: run, report_all, notice_call, stop
                             HandlerCall: begin, end, report_overdue, due
  engine/flusher.cpp         Flusher::call: begin, then notice_call, then the handler

What a mutex guards is one step here, but for the watch's own mutex, which it holds while it
decides to sleep. `is_dormant_` is read by consumers without it; the stores to it are followed by
an unlock, and the load by a consumer follows one, so that no store buffer can hide it.

A tick is half a flush_timeout. A call may return at any moment, or be stuck until it is reported.
No call begins when the clock, which stops some time, would not make it overdue any more.
Left out: the stop token, what the report does, a test's clock; and the moment between reading the
clock for a call and begin(), by which a report may be late.

An error is a stuck call that nobody reports, or a watch that does not end: an invalid end state.

check holds  safety
check breaks safety BROKEN_DORMANT_AFTER_SCAN -> invalid end state
check breaks safety BROKEN_NOTICE_BEFORE_BEGIN -> invalid end state
check breaks safety BROKEN_NOTICE_WITHOUT_MUTEX -> invalid end state
check breaks safety BROKEN_WAIT_WITHOUT_CONDITION -> invalid end state
check breaks safety BROKEN_STAYS_UP_TOO_LONG -> invalid end state
check breaks safety BROKEN_STOP_WITHOUT_NOTIFY -> invalid end state
check breaks safety BROKEN_REPORT_IN_TWO_STEPS -> assertion violated
*/

#define CONSUMERS 2
#ifndef CALLS
#define CALLS 3       /* of both consumers together */
#endif
#define TIMEOUT 2     /* ticks */
#define LAST_TICK 4
#define kNever 255

byte now;                       /* the clock */

/* HandlerCall */
bool is_running[CONSUMERS];
bool is_reported[CONSUMERS];
byte began[CONSUMERS];

/* OverdueWatch */
bool is_locked;                 /* mutex_ */
bool is_waiting;                /* in changed_ */
bool is_dormant;
bool is_stopping;

byte calls = CALLS;
byte consuming = CONSUMERS;

active proctype Clock() {
end:
  do
  :: now < LAST_TICK -> now++
  od
}

/* HandlerCall::report_overdue(at). The watch does it, and the consumer when the call returns. */
inline report_overdue(index) {
#ifdef BROKEN_REPORT_IN_TWO_STEPS
  is_overdue = is_running[index] && !is_reported[index] && at >= began[index] + TIMEOUT;
  d_step {
    if
    :: is_overdue -> assert(!is_reported[index]); is_reported[index] = true
    :: else
    fi;
    at = 0;
    is_overdue = false
  }
#else
  d_step {
    is_overdue = is_running[index] && !is_reported[index] && at >= began[index] + TIMEOUT;
    if
    :: is_overdue -> assert(!is_reported[index]); is_reported[index] = true
    :: else
    fi;
    at = 0;
    is_overdue = false
  }
#endif
}

inline notice_call() {
  if
  :: is_dormant ->
#ifdef BROKEN_NOTICE_WITHOUT_MUTEX
    is_dormant = false;
    is_waiting = false
#else
    d_step { !is_locked -> is_dormant = false; is_waiting = false }
#endif
  :: !is_dormant
  fi
}

inline begin_call() {
  calls--;
  is_running[me] = true;
  is_reported[me] = false;
  began[me] = now
}

active [CONSUMERS] proctype Consumer() {
  byte me = _pid - 1;
  byte at;
  bool is_overdue;

  do
#ifdef BROKEN_NOTICE_BEFORE_BEGIN
  :: calls > 0 && now <= LAST_TICK - TIMEOUT ->
    notice_call();
    if
    :: d_step { calls > 0 && now <= LAST_TICK - TIMEOUT -> begin_call() }
    :: calls == 0 || now > LAST_TICK - TIMEOUT -> break
    fi;
#else
  :: d_step { calls > 0 && now <= LAST_TICK - TIMEOUT -> begin_call() };
    notice_call();
#endif
    if
    :: true                    /* it returns at any moment */
    :: true -> is_reported[me] /* it is stuck, until somebody does something about it */
    fi;
    at = now;
    report_overdue(me);
    d_step { is_running[me] = false; is_reported[me] = false; began[me] = 0 }
  :: true -> break
  od;
  consuming--
}

active proctype Closer() {
  consuming == 0;
#ifdef BROKEN_STOP_WITHOUT_NOTIFY
  d_step { !is_locked -> is_stopping = true }
#else
  d_step { !is_locked -> is_stopping = true; is_waiting = false }
#endif
}

inline look_at_due(index) {
  d_step {
    if
    :: is_running[index] && !is_reported[index] && began[index] + TIMEOUT < due ->
      due = began[index] + TIMEOUT
    :: else
    fi
  }
}

inline report_all() {
  at = now; report_overdue(0); look_at_due(0);
  at = now; report_overdue(1); look_at_due(1)
}

active proctype Watch() {
  byte due;
  byte looked_at;
  bool was_woken;
  byte at;
  bool is_overdue;

  is_locked = true;
  do
  :: is_stopping -> break
  :: !is_stopping ->
#ifndef BROKEN_DORMANT_AFTER_SCAN
    is_dormant = true;
#endif
    is_locked = false;
    due = kNever;
    looked_at = now;
    report_all();
    d_step { !is_locked -> is_locked = true };
#ifdef BROKEN_DORMANT_AFTER_SCAN
    is_dormant = due == kNever;
#endif
    if
    :: is_stopping -> break
    :: !is_stopping && due == kNever && !was_woken ->
#ifdef BROKEN_WAIT_WITHOUT_CONDITION
      d_step { is_locked = false; is_waiting = true };
      d_step { !is_waiting && !is_locked -> is_locked = true };
#endif
      do  /* changed_.wait: asleep until the condition holds */
      :: is_stopping || !is_dormant -> break
      :: else ->
        d_step { is_locked = false; is_waiting = true };
        d_step { !is_waiting && !is_locked -> is_locked = true }
      od;
      was_woken = true
    :: !is_stopping && (due != kNever || was_woken) ->
      if
#ifdef BROKEN_STAYS_UP_TOO_LONG
      :: due == kNever -> due = looked_at + 2 * TIMEOUT
#else
      :: due == kNever -> due = looked_at + TIMEOUT
#endif
      :: else
      fi;
      is_dormant = false;
      was_woken = false;
      do  /* changed_.wait_until */
      :: is_stopping || now >= due -> break
      :: else ->
        d_step { is_locked = false; is_waiting = true };
        d_step { (!is_waiting || now >= due) && !is_locked -> is_locked = true; is_waiting = false }
      od
    fi;
    due = 0;
    looked_at = 0
  od;
  is_locked = false
}
