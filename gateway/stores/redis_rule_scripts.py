"""How rules are counted in Redis: in Lua what gateway.admission.rule_counters does in memory, with
the same arithmetic. A hash for each rule:

    rolling         t: the total, o and n: the oldest and the newest part, and each part's number
    fixed_window    s: when the window began, u: what is used of it
    sliding_window  n: the window, u: what is used of it, b: what was used of the one before
    token_bucket    at: when it was reckoned, u: what is used

A rule comes as nine arguments: its algorithm, the amount, the limit, four numbers of the algorithm
(`words` of gateway.stores.redis_rules), what is used as far as the process has heard, and when that
was counted which is corrected. `look` returns what is used now and keeps what it found, `add` and
`correct` change it, and `tell` is what the process hears.
"""

from __future__ import annotations

RULES = """
local function load_rules()

local function expire(key, at)
  redis.call('PEXPIRE', key, text(math.max(math.ceil((at - now) / 1000), 0) + 1000))
end

local function window_of(moment, a, b, c, period)
  if period > 0 then return moment - moment % period end
  if moment >= c then return c elseif moment >= b then return b else return a end
end

local rolling = {}

function rolling.look(s)
  local width, period = s.a, s.b
  s.now = math.floor(now / width)
  s.oldest = math.floor((now - period) / width)
  local kept = redis.call('HMGET', s.key, 't', 'o', 'n')
  if not kept[1] then
    s.total, s.first, s.last = 0, s.now, s.now
    if s.declared > 0 then rolling.put(s, s.now, s.declared) end
    return s.total
  end
  s.total, s.first, s.last = tonumber(kept[1]), tonumber(kept[2]), tonumber(kept[3])
  if s.last < s.oldest then
    redis.call('DEL', s.key)
    s.total, s.first, s.last = 0, s.now, s.now
  elseif s.first < s.oldest then
    local fields = {}
    for number = s.first, s.oldest - 1 do fields[#fields + 1] = text(number) end
    for _, amount in ipairs(redis.call('HMGET', s.key, unpack(fields))) do
      if amount then s.total = s.total - tonumber(amount) end
    end
    redis.call('HDEL', s.key, unpack(fields))
    s.first = s.oldest
    redis.call('HSET', s.key, 't', text(s.total), 'o', text(s.first))
  end
  if s.last > s.now then rolling.fold(s) end
  return s.total
end

function rolling.fold(s)
  local early = 0
  for number = s.now, math.min(s.last, s.now + 10000) do
    local amount = redis.call('HGET', s.key, text(number))
    if amount then
      early = early + tonumber(amount)
      redis.call('HDEL', s.key, text(number))
    end
  end
  s.last, s.first = s.now, math.min(s.first, s.now)
  redis.call('HSET', s.key, text(s.now), text(early), 'o', text(s.first), 'n', text(s.last))
end

function rolling.put(s, number, amount)
  local before = tonumber(redis.call('HGET', s.key, text(number)) or 0)
  local after = math.max(before + amount, 0)
  s.total = s.total + after - before
  s.first, s.last = math.min(s.first, number), math.max(s.last, number)
  redis.call('HSET', s.key, text(number), text(after), 't', text(s.total),
    'o', text(s.first), 'n', text(s.last))
  expire(s.key, (s.last + 1) * s.a + s.b)
end

function rolling.add(s) rolling.put(s, s.now, s.amount) end

function rolling.correct(s)
  local number = math.floor(math.min(s.at, now) / s.a)
  if number >= s.oldest then rolling.put(s, number, s.amount) end
end

function rolling.tell(s, is_refused)
  if not is_refused then return {text(s.last), text(s.total)} end
  local said = {}
  for number = s.first, s.last do said[#said + 1] = text(number) end
  local amounts = redis.call('HMGET', s.key, unpack(said))
  local parts = {}
  for n, amount in ipairs(amounts) do
    if amount then
      parts[#parts + 1] = said[n]
      parts[#parts + 1] = amount
    end
  end
  return parts
end

local fixed = {}

function fixed.look(s)
  local start = window_of(now, s.a, s.b, s.c, s.d)
  local kept = redis.call('HMGET', s.key, 's', 'u')
  local began = tonumber(kept[1] or 0)
  s.start, s.used = start, 0
  if not kept[1] then
    s.used = s.declared
  elseif began >= start then
    s.used = tonumber(kept[2])
    if began <= now then s.start = began end
  end
  return s.used
end

function fixed.keep(s)
  redis.call('HSET', s.key, 's', text(s.start), 'u', text(s.used))
  expire(s.key, s.d > 0 and s.start + s.d or s.c + (s.c - s.b))
end

function fixed.add(s)
  s.used = s.used + s.amount
  fixed.keep(s)
end

function fixed.correct(s)
  if s.at >= s.start then
    s.used = math.max(s.used + s.amount, 0)
    fixed.keep(s)
  end
end

function fixed.tell(s) return {text(s.start), text(s.used)} end

local sliding = {}

function sliding.look(s)
  local period = s.a
  s.number = math.floor(now / period)
  local kept = redis.call('HMGET', s.key, 'n', 'u', 'b')
  s.used, s.before = s.declared, 0
  if kept[1] then
    local number = tonumber(kept[1])
    if s.number <= number then
      s.used, s.before = tonumber(kept[2]), tonumber(kept[3])
    else
      s.used, s.before = 0, s.number == number + 1 and tonumber(kept[2]) or 0
    end
  end
  return s.used + math.ceil(s.before * ((s.number + 1) * period - now) / period)
end

function sliding.keep(s)
  redis.call('HSET', s.key, 'n', text(s.number), 'u', text(s.used), 'b', text(s.before))
  expire(s.key, (s.number + 2) * s.a)
end

function sliding.add(s)
  s.used = s.used + s.amount
  sliding.keep(s)
end

function sliding.correct(s)
  local number = math.floor(s.at / s.a)
  if number >= s.number then
    s.used = math.max(s.used + s.amount, 0)
  elseif number == s.number - 1 then
    s.before = math.max(s.before + s.amount, 0)
  end
  sliding.keep(s)
end

function sliding.tell(s) return {text(s.number), text(s.used), text(s.before)} end

local bucket = {}

function bucket.look(s)
  local kept = redis.call('HMGET', s.key, 'at', 'u')
  s.used = s.declared
  if kept[1] then
    local passed = math.max(now - tonumber(kept[1]), 0)
    s.used = math.max(tonumber(kept[2]) - passed * s.a / s.b, 0)
  end
  return math.ceil(s.used - ROUNDING)
end

function bucket.keep(s)
  redis.call('HSET', s.key, 'at', text(now), 'u', string.format('%.17g', s.used))
  expire(s.key, now + s.used * s.b / s.a)
end

function bucket.add(s)
  s.used = s.used + s.amount
  bucket.keep(s)
end

function bucket.correct(s)
  s.used = math.max(s.used + s.amount, 0)
  bucket.keep(s)
end

function bucket.tell(s) return {text(now), string.format('%.17g', s.used)} end

local ALGORITHMS = {rolling = rolling, fixed_window = fixed, sliding_window = sliding,
  token_bucket = bucket}

local function rule_of(key, first)
  local s = {key = key, algorithm = ALGORITHMS[ARGV[first]]}
  s.amount, s.limit = tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])
  s.a, s.b = tonumber(ARGV[first + 3]), tonumber(ARGV[first + 4])
  s.c, s.d = tonumber(ARGV[first + 5]), tonumber(ARGV[first + 6])
  s.declared, s.at = tonumber(ARGV[first + 7]), tonumber(ARGV[first + 8])
  return s
end

return rule_of
end
"""

# Counts what calls have used instead of what they reserved, or what was counted elsewhere. KEYS: of
# the rules. ARGV: process; then nine for each rule.
CORRECT = """
local rule_of = load_rules()
for n = 1, #KEYS do
  local s = rule_of(KEYS[n], 2 + (n - 1) * 9)
  s.algorithm.look(s)
  s.algorithm.correct(s)
end
return 0
"""
