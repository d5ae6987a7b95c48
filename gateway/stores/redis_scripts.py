"""The Lua scripts that count limits in Redis. Each runs whole before the next begins.

Every moment is Redis's own TIME in microseconds: the clocks of hosts differ. Three keys for each
key or workspace, all of a workspace in one hash slot, and one for each rule
(gateway.stores.redis_rule_scripts):

    rate     a hash: used, at. What TokenBucket (gateway.admission.request_rate) counts.
    slots    a hash: process → "<slots> <until>". A process that stops renewing loses its slots.
    waiters  a hash: process → "<arrived> <until>". The call that waits first in each process.

`declared` is what a process knows to hold, or to have heard: it counts where Redis has lost its
memory, so that an emptied server learns from the processes what they have admitted.
"""

from __future__ import annotations

from hashlib import sha1

from gateway.admission.rule_counters import ROUNDING
from gateway.stores.redis_rule_scripts import CORRECT, RULES

CALL_US = 60 * 10**6
LEASE_US = 35 * 10**6
# A process that waits asks again before this.
WAITER_US = 2 * 10**6
WAKE_CHANNEL = "tollhouse:wake:"

_NUMBERS = f"""
local CALL, LEASE, WAITER, WAKE = {CALL_US}, {LEASE_US}, {WAITER_US}, '{WAKE_CHANNEL}'
local ROUNDING = {ROUNDING}
"""
_COMMON = """local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local process = ARGV[1]

local function text(number) return string.format('%.0f', number) end

local function used_of(key, per_minute, declared)
  local kept = redis.call('HMGET', key, 'used', 'at')
  if not kept[1] then return declared end
  local passed = now - tonumber(kept[2])
  if passed < 0 then
    redis.call('HSET', key, 'at', text(now))
    passed = 0
  end
  return math.max(tonumber(kept[1]) - passed * per_minute, 0)
end

local function set_used(key, per_minute, used)
  redis.call('HSET', key, 'used', text(used), 'at', text(now))
  redis.call('PEXPIRE', key, text(math.ceil(used / per_minute / 1000) + 1000))
end

local function slots_of(key, declared)
  local others, own = 0, declared
  local kept = redis.call('HGETALL', key)
  for n = 1, #kept, 2 do
    local count, ends = string.match(kept[n + 1], '^(%d+) (%d+)$')
    local lives = ends and tonumber(ends) > now
    if lives and kept[n] == process then
      own = tonumber(count)
    elseif lives then
      others = others + tonumber(count)
    elseif kept[n] ~= process then
      redis.call('HDEL', key, kept[n])
    end
  end
  return others, own
end

local function set_slots(key, count)
  if count > 0 then
    redis.call('HSET', key, process, text(count) .. ' ' .. text(now + LEASE))
    redis.call('PEXPIRE', key, text(2 * LEASE / 1000))
  else
    redis.call('HDEL', key, process)
  end
end

local function waiters_before(key, arrived)
  local count, first, first_arrived = 0, nil, nil
  local kept = redis.call('HGETALL', key)
  for n = 1, #kept, 2 do
    local came, ends = string.match(kept[n + 1], '^(%d+) (%d+)$')
    if not ends or tonumber(ends) <= now then
      redis.call('HDEL', key, kept[n])
    else
      came = tonumber(came)
      if kept[n] ~= process and (not arrived or came < arrived
          or (came == arrived and kept[n] < process)) then
        count = count + 1
      end
      if not first_arrived or came < first_arrived then
        first, first_arrived = kept[n], came
      end
    end
  end
  return count, first
end

local function wake_next(slots, waiters)
  local _, first = waiters_before(waiters, nil)
  if first then redis.call('PUBLISH', WAKE .. first, slots) end
end
"""

# Counts a request in each limit that it comes under and takes its slots, or nothing at all.
# KEYS: of each limit that counts; then slots and waiters of each that has slots. ARGV: process, how
# many there are of both; for each that counts either `rate`, per_minute, burst, declared, or the
# nine of a rule; for each with slots: limit, declared, wants a slot (1: yes, 2: only in turn), may
# queue.
# Returns what happened (0: entered, 1: a limit refuses, 2: no slot and no queue), which limit of
# those it was, now, what each limit is at, slots in use (-1: not looked at), slots taken.
# Where a slot is missing and the call may queue for it, the request is counted and the slot not
# taken; the innermost comes first, so a call that waits for it takes no slot of an outer one.
_LOOK = """
local counted, with_slots = tonumber(ARGV[2]), tonumber(ARGV[3])
local limits, in_use, taken, owns = {}, {}, {}, {}
local place, refused, rule_of = 4, 0, nil

local function answer(happened, which, none_taken)
  local told = {}
  for n, s in ipairs(limits) do
    told[n] = s.per_minute and s.used or s.algorithm.tell(s, happened == 1 and n == which)
  end
  for n = 1, with_slots do
    in_use[n] = in_use[n] or -1
    taken[n] = not none_taken and taken[n] or 0
  end
  return {happened, which, now, told, in_use, taken}
end

for n = 1, counted do
  local s
  if ARGV[place] == 'rate' then
    s = {per_minute = tonumber(ARGV[place + 1]), burst = tonumber(ARGV[place + 2])}
    s.used = used_of(KEYS[n], s.per_minute, tonumber(ARGV[place + 3]))
    if s.used > (s.burst - 1) * CALL and refused == 0 then refused = n end
    place = place + 4
  else
    rule_of = rule_of or load_rules()
    s = rule_of(KEYS[n], place)
    if s.algorithm.look(s) + s.amount > s.limit and refused == 0 then refused = n end
    place = place + 9
  end
  limits[n] = s
end
if refused > 0 then return answer(1, refused, true) end
for n = with_slots, 1, -1 do
  local first = place + (n - 1) * 4
  local others, own = slots_of(KEYS[counted + 2 * n - 1], tonumber(ARGV[first + 1]))
  in_use[n] = others + own
  local free = tonumber(ARGV[first]) - others - own
  if ARGV[first + 2] == '1' and free > 0
      and free > waiters_before(KEYS[counted + 2 * n], nil) then
    taken[n], owns[n] = 1, own
  elseif ARGV[first + 3] == '1' then
    break
  else
    return answer(2, n, true)
  end
end
"""
_TAKE_ALL = """
for n, s in ipairs(limits) do
  if s.per_minute then
    s.used = s.used + CALL
    set_used(KEYS[n], s.per_minute, s.used)
  else
    s.algorithm.add(s)
  end
end
for n = 1, with_slots do
  if taken[n] then
    set_slots(KEYS[counted + 2 * n - 1], owns[n] + 1)
    in_use[n] = in_use[n] + 1
  end
end
return answer(0, 0, false)
"""
ENTER = _LOOK + _TAKE_ALL
# Says what ENTER would come to, of the same arguments; counts and takes nothing. As slots taken it
# returns those that are there.
ASK = _LOOK + "return answer(0, 0, false)"

# A process asks for a slot for its queue. KEYS: slots, waiters. ARGV: process, limit, declared,
# microseconds it has waited for its turn. Returns whether it has got one, and the slots in use.
TAKE = """
local others, own = slots_of(KEYS[1], tonumber(ARGV[3]))
local arrived = now - tonumber(ARGV[4])
local free = tonumber(ARGV[2]) - others - own
if free > 0 and free > waiters_before(KEYS[2], arrived) then
  set_slots(KEYS[1], own + 1)
  redis.call('HDEL', KEYS[2], process)
  if free > 1 then wake_next(KEYS[1], KEYS[2]) end
  return {1, others + own + 1}
end
redis.call('HSET', KEYS[2], process, text(arrived) .. ' ' .. text(now + WAITER))
redis.call('PEXPIRE', KEYS[2], text(2 * WAITER / 1000))
return {0, others + own}
"""

# Gives a slot back. KEYS: slots, waiters. ARGV: process, declared before.
RELEASE = """
local _, own = slots_of(KEYS[1], tonumber(ARGV[2]))
set_slots(KEYS[1], own - 1)
wake_next(KEYS[1], KEYS[2])
return 0
"""

# Renews a process's slots. KEYS: slots, waiters. ARGV: process, declared, 1 when that is sure.
RENEW = """
local count = tonumber(ARGV[2])
if ARGV[3] ~= '1' then
  local _, own = slots_of(KEYS[1], count)
  count = own
end
set_slots(KEYS[1], count)
wake_next(KEYS[1], KEYS[2])
return 0
"""

# Nobody waits in a process any more. KEYS: slots, waiters. ARGV: process.
LEAVE = """
redis.call('HDEL', KEYS[2], process)
wake_next(KEYS[1], KEYS[2])
return 0
"""

# Counts requests that were counted elsewhere, or takes some back. KEYS: rate. ARGV: process,
# per_minute, burst, declared, the amount.
ADJUST = """
local per_minute, amount = tonumber(ARGV[2]), tonumber(ARGV[5])
local used = used_of(KEYS[1], per_minute, tonumber(ARGV[4])) + amount
set_used(KEYS[1], per_minute, math.max(math.min(used, tonumber(ARGV[3]) * CALL), 0))
return 0
"""


class Script:
    """A script and the name that the server gives it."""

    def __init__(self, body: str, rules: str = "") -> None:
        self.text = _NUMBERS + _COMMON + rules + body
        self.sha = sha1(self.text.encode(), usedforsecurity=False).hexdigest()


ENTER_SCRIPT = Script(ENTER, RULES)
ASK_SCRIPT = Script(ASK, RULES)
TAKE_SCRIPT = Script(TAKE)
RELEASE_SCRIPT = Script(RELEASE)
RENEW_SCRIPT = Script(RENEW)
LEAVE_SCRIPT = Script(LEAVE)
ADJUST_SCRIPT = Script(ADJUST)
CORRECT_SCRIPT = Script(CORRECT, RULES)
SCRIPTS = (
    ENTER_SCRIPT,
    ASK_SCRIPT,
    TAKE_SCRIPT,
    RELEASE_SCRIPT,
    RENEW_SCRIPT,
    LEAVE_SCRIPT,
    ADJUST_SCRIPT,
    CORRECT_SCRIPT,
)
