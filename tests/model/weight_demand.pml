/*
Demand by weight: no producer sleeps for ever for want of room by weight, though its partition has
no batch due by number and none by weight.

Stands for
  engine/gate.hpp       WeightGate: has_room, reserve, release, demand_flush, is_due, forget_demand
  engine/space_waiters.*  SpaceWaiters: join, release, hand_room (wait_serve.pml has more of it)
  engine/inserts.cpp    BufferCore: take_room, insert_some
  engine/consumer.cpp   Consumer: step, due_reason, gather, rest, park
  engine/drain.cpp      Drain::take_weighed: no batch above the limit, but for a single item

All of it is seq_cst in the engine, or under the waiters' mutex, so interleaving is all there is. The doorbell is a token: the
first item of an empty partition rings (park_ring.pml), and so does who says so here. Nothing else
makes a batch due: no number of items, no deadline, no request.

Producer 0 inserts light items, producer 1 heavy ones, which find no room behind two light ones.
Neither of the two light ones makes a batch due. By number there is always room, but for the bar.

check holds  safety
check holds  safety UNUSED
check breaks safety BROKEN_FORGETS_AFTER_TAKING -> invalid end state
check breaks safety BROKEN_DEMAND_WITHOUT_RING -> invalid end state
check breaks safety BROKEN_DEMANDS_ONCE -> invalid end state
check breaks safety BROKEN_NO_DEMAND -> invalid end state
check breaks safety BROKEN_NO_RING_WHEN_DUE -> invalid end state
check breaks safety BROKEN_RESERVE_IN_TWO_STEPS -> assertion violated
check breaks safety BROKEN_HEAVIEST_WAITS_FOR_ROOM -> invalid end state
check breaks safety BROKEN_ITEMS_BEFORE_WEIGHT -> invalid end state
*/

#define LIGHT 1
#define HEAVY 2
#define HEAVIEST 5     /* more than there can be room for: goes alone */
#define CAPACITY 3     /* Options::capacity_bytes */
#define TRIP 3         /* Options::max_bytes: makes a batch due, and is its limit */

chan queue = [4] of { byte };  /* the weights of what is pending, */
byte items;                    /* and how many there are */
byte weight;                   /* WeightGate::pending_ */
bool is_demanded;
bool is_rung;                  /* the doorbell's token */

/* SpaceWaiters. */
bool mutex;
bool is_barred;                /* in Gate::settled_ */
byte waiting;
byte place[2];                 /* in the order of waiting, from 1; 0: not in line */
byte wanted[2];                /* Waiter::weight_ */
bool is_over[2];
byte running = 2;

#ifdef BROKEN_HEAVIEST_WAITS_FOR_ROOM
#define admits(added) (weight + added <= CAPACITY)
#else
#define admits(added) (weight == 0 || weight + added <= CAPACITY)
#endif
#define is_due (weight >= TRIP || is_demanded)

inline lock() { atomic { !mutex -> mutex = true } }

inline demand_flush() {
#ifdef BROKEN_NO_DEMAND
  skip
#else
  is_demanded = true;
#ifndef BROKEN_DEMAND_WITHOUT_RING
  is_rung = true
#endif
#endif
}

/* Under the mutex. Who is served is told at once: wait_serve.pml tells it later. */
inline serve() {
  do
  :: waiting == 0 -> is_barred = false; break
  :: waiting > 0 ->
    d_step {
      oldest = (place[0] == 1 -> 0 : 1);
      is_served = admits(wanted[oldest]);
      if
      :: is_served ->
        weight = weight + wanted[oldest];
        assert(weight <= CAPACITY || weight == wanted[oldest]);
        place[oldest] = 0;
        place[1 - oldest] = (place[1 - oldest] > 0 -> 1 : 0);
        waiting--;
        is_over[oldest] = true
      :: else
      fi;
      oldest = 0
    };
    if
    :: is_served
    :: else ->
#ifndef BROKEN_DEMANDS_ONCE
      demand_flush();
#endif
      break
    fi
  od;
  is_served = false
}

/* SpaceWaiters::release: the weight first, then the items, whose change tells of the bar. */
inline release(less) {
#ifdef BROKEN_ITEMS_BEFORE_WEIGHT
  is_awaited = is_barred;
  weight = weight - less;
#else
  weight = weight - less;
  is_awaited = is_barred;
#endif
  if
  :: is_awaited -> is_awaited = false; lock(); serve(); mutex = false
  :: else
  fi
}

inline wait_for_room(added) {
  lock();
  d_step { waiting++; place[me] = waiting; wanted[me] = added };
  is_barred = true;
#ifdef BROKEN_DEMANDS_ONCE
  demand_flush();
#endif
  serve();
  mutex = false;
  is_over[me];
  d_step { is_over[me] = false; wanted[me] = 0; has_room = true }
}

inline insert(added) {
  has_room = admits(added);       /* take_room */
  if
  :: has_room -> has_room = !is_barred
  :: else
  fi;
  if
  :: has_room ->
#ifdef BROKEN_RESERVE_IN_TWO_STEPS
    weight = weight + added;
    assert(weight <= CAPACITY || weight == added)
#else
    d_step {
      has_room = admits(added);
      weight = (has_room -> weight + added : weight)
    }
#endif
  :: else
  fi;
  if
  :: !has_room -> wait_for_room(added)
  :: has_room
  fi;
  has_room = false;
#ifdef UNUSED
  is_unused = false;
  if
  :: true
  :: is_unused = true; release(added)  /* no memory: the call ends */
  fi;
#endif
  if
  :: !is_unused ->
    d_step { is_rung = is_rung || items == 0; queue ! added; items++ };
    if
#ifndef BROKEN_NO_RING_WHEN_DUE
    :: is_due -> is_rung = true
#endif
    :: else
    fi
  :: else
  fi
}

active proctype Light() {
  byte me = 0;
  byte oldest;
  bool has_room;
  bool is_served;
  bool is_awaited;
  bool is_unused;

  insert(LIGHT);
  insert(LIGHT);
  insert(LIGHT);
  running--
}

active proctype Heavy() {
  byte me = 1;
  byte oldest;
  bool has_room;
  bool is_served;
  bool is_awaited;
  bool is_unused;

  insert(HEAVY);
  insert(HEAVIEST);
  insert(HEAVY);
  running--
}

active proctype Consumer() {
  byte taken;
  byte next;
  byte oldest;
  bool is_served;
  bool is_awaited;

  do
  :: items > 0 && is_due ->         /* gather() */
#ifndef BROKEN_FORGETS_AFTER_TAKING
    is_demanded = false;
#endif
    d_step {
      do
      :: items > 0 ->
        queue ? <next>;
        if
        :: taken == 0 || taken + next <= TRIP -> queue ? next; items--; taken = taken + next
        :: else -> break
        fi
      :: items == 0 -> break
      od;
      next = 0
    };
    release(taken);
    taken = 0
#ifdef BROKEN_FORGETS_AFTER_TAKING
    ; is_demanded = false
#endif
  :: else ->                        /* park() */
    if
    :: is_rung -> is_rung = false
    :: !is_rung && running == 0 && !(items > 0 && is_due) -> break  /* asleep for good reason */
    fi
  od
}
