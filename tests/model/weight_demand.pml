/*
Demand by weight: no producer sleeps for ever for want of room by weight, though its partition has
no batch due by number and none by weight.

Stands for
  engine/gate.hpp       WeightGate: has_room, reserve, release, demand_flush, is_due, forget_demand
  engine/room_bell.*    RoomBell: Waiter, wait_until, ring (settle_block_release.pml has more of it)
  engine/inserts.cpp    BufferCore: find_room, insert_some, prepare_weighed, wait_for_room,
                        demand_flush
  engine/consumer.cpp   Consumer: step, due_reason, gather, rest, park
  engine/drain.cpp      Drain::take_weighed: no batch above the limit, but for a single item

All of it is seq_cst in the engine, so interleaving is all there is. The doorbell is a token: the
first item of an empty partition rings (park_ring.pml), and so does who says so here. Nothing else
makes a batch due: no number of items, no deadline, no request.

Producer 0 inserts light items, producer 1 heavy ones, which find no room behind two light ones.
Neither of the two light ones makes a batch due. An epoch is the latest or an older one.

check holds  safety
check holds  safety UNUSED
check breaks safety BROKEN_FORGETS_AFTER_TAKING -> invalid end state
check breaks safety BROKEN_DEMAND_WITHOUT_RING -> invalid end state
check breaks safety BROKEN_DEMANDS_ONCE -> invalid end state
check breaks safety BROKEN_NO_DEMAND -> invalid end state
check breaks safety BROKEN_NO_RING_WHEN_DUE -> invalid end state
check breaks safety BROKEN_RESERVE_IN_TWO_STEPS -> assertion violated
check breaks safety BROKEN_HEAVIEST_WAITS_FOR_ROOM -> invalid end state
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

byte waiters;
bool is_latest[2];
bool is_asleep[2];
byte running = 2;

#ifdef BROKEN_HEAVIEST_WAITS_FOR_ROOM
#define admits(added) (weight + added <= CAPACITY)
#else
#define admits(added) (weight == 0 || weight + added <= CAPACITY)
#endif
#define is_due (weight >= TRIP || is_demanded)

inline ring_room() {
  if
  :: waiters == 0
  :: else ->
    d_step { is_latest[0] = false; is_latest[1] = false };
    d_step { is_asleep[0] = false; is_asleep[1] = false }
  fi
}

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

inline wait_for_room(added) {
  waiters++;
  is_latest[me] = true;
  has_room = admits(added);
#ifdef BROKEN_DEMANDS_ONCE
  if
  :: !has_room -> demand_flush()
  :: else
  fi;
#endif
  do
  :: has_room -> break
  :: !has_room ->
#ifndef BROKEN_DEMANDS_ONCE
    demand_flush();
#endif
    d_step { is_asleep[me] = is_latest[me] };
    !is_asleep[me];
    is_latest[me] = true;
    has_room = admits(added)
  od;
  waiters--
}

inline insert(added) {
  do
  :: true ->
    has_room = admits(added);       /* find_room */
    if
    :: !has_room -> wait_for_room(added)
    :: has_room ->
#ifdef BROKEN_RESERVE_IN_TWO_STEPS
      weight = weight + added;
#else
      d_step {
        has_room = admits(added);
        weight = (has_room -> weight + added : weight)
      };
#endif
      if
      :: !has_room                  /* somebody was faster */
      :: has_room ->
        assert(weight <= CAPACITY || weight == added);
#ifdef UNUSED
        if
        :: true
        :: true -> weight = weight - added; ring_room(); break  /* no memory: the call ends */
        fi;
#endif
        d_step { is_rung = is_rung || items == 0; queue ! added; items++ };
        if
#ifndef BROKEN_NO_RING_WHEN_DUE
        :: is_due -> is_rung = true
#endif
        :: else
        fi;
        break
      fi
    fi
  od
}

active proctype Light() {
  byte me = 0;
  bool has_room;

  insert(LIGHT);
  insert(LIGHT);
  insert(LIGHT);
  running--
}

active proctype Heavy() {
  byte me = 1;
  bool has_room;

  insert(HEAVY);
  insert(HEAVIEST);
  insert(HEAVY);
  running--
}

active proctype Consumer() {
  byte taken;
  byte next;

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
    d_step { weight = weight - taken; taken = 0 };
#ifdef BROKEN_FORGETS_AFTER_TAKING
    ring_room();
    is_demanded = false
#else
    ring_room()
#endif
  :: else ->                        /* park() */
    if
    :: is_rung -> is_rung = false
    :: !is_rung && running == 0 && !(items > 0 && is_due) -> break  /* asleep for good reason */
    fi
  od
}
