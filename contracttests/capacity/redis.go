package capacity

import "math"

// pingsPerSecond is how often each replica asks each master of Redis whether it is there: see
// cache/monitor.go.
const pingsPerSecond = 2

// A part is the work that a round trip means for a shard, in microseconds.
type part struct {
	shard  int
	micros float64
}

// shardOf returns the shard of a key or a tag.
func (s *simulation) shardOf(key uint64) int {
	return int((key * 0x9E3779B97F4A7C15) >> 33 % uint64(len(s.shards)))
}

// The generation of all replies, which each look-up reads, and the channel have a shard each.
func (s *simulation) epochShard() int   { return 0 }
func (s *simulation) channelShard() int { return len(s.shards) - 1 }

// parts divides a round trip, of so many microseconds in a single Redis, between the shards of the
// reply, of its tag and of the tag of all replies, with so many commands for each tag. A shard that
// gets a part executes a pipeline of its own, whose first command costs as much as one alone.
func (s *simulation) parts(key, tag uint64, micros, commands float64) []part {
	if len(s.shards) == 1 {
		return []part{{0, micros}}
	}
	first, more := s.redis.SmallGet, s.redis.MoreGet*commands
	parts := []part{{s.shardOf(key), max(micros-2*more, first)}}
	others := []int{s.epochShard(), s.shardOf(tag)}
	if s.EpochCopies {
		others[0] = parts[0].shard
	}
	for _, shard := range others {
		found := false
		for i := range parts {
			if parts[i].shard == shard {
				parts[i].micros += more
				found = true
			}
		}
		if !found {
			parts = append(parts, part{shard, first + more - s.redis.MoreGet})
		}
	}
	return parts
}

// ask makes a round trip from a replica to Redis. operate runs when the last shard has executed its
// part, and returns what the replica does with the reply. Without a reply in time the replica does
// otherwise.
func (s *simulation) ask(replica int, parts []part, commands float64, operate func() (then func()), otherwise func()) {
	way, sent := s.rtt(replica)/2, s.now
	s.count(&s.Commands, commands)
	s.count(&s.RoundTrips, 1)
	s.agenda.add(s.now+way, func() {
		executed := s.now
		for _, p := range parts {
			executed = math.Max(executed, s.serveShard(p.shard, p.micros))
		}
		timedOut := s.Timeout > 0 && executed+way-sent > s.Timeout.Seconds()
		if timedOut && otherwise != nil {
			s.agenda.add(sent+s.Timeout.Seconds(), otherwise)
		}
		s.agenda.add(executed, func() {
			then := operate()
			if !timedOut || otherwise == nil {
				s.agenda.add(s.now+way, then)
			}
		})
	})
}

// serveShard has a shard work, and returns when it is done.
func (s *simulation) serveShard(shard int, micros float64) float64 {
	s.count(&s.ShardWork[shard], micros/1e6)
	return s.shards[shard].serve(s.now, micros/1e6)
}

// publish sends a message to all replicas: from the shard of the channel, or by its relays.
func (s *simulation) publish() {
	if s.NoRedis {
		return
	}
	subscribers := float64(s.Replicas)
	if s.counted() {
		s.Published++
		s.Delivered += s.Replicas
		s.ReplicaWork += subscribers * s.redis.Receive / 1e6
	}
	if relays := float64(len(s.relays)); relays > 0 {
		for i := range s.relays {
			seconds := (s.redis.Publish + s.redis.PublishPerSubscriber*subscribers/relays) / 1e6
			s.count(&s.RelayWork, seconds)
			s.relays[i].serve(s.now, seconds)
		}
		subscribers = relays
	}
	for i := range s.shards {
		if i != s.channelShard() { // the bus of the cluster
			s.serveShard(i, s.redis.Publish)
		}
	}
	s.serveShard(s.channelShard(), s.redis.Publish+s.redis.PublishPerSubscriber*subscribers)
}

// beginSigned answers a signed read: Redis notes the nonce, and the database reads.
func (s *simulation) beginSigned(a Arrival, kind Kind, done func(at float64)) {
	cost := s.costs[kind]
	s.think(a.Replica, kind, cost.Portico, func() {
		s.nonce(a.Replica, func() {
			s.query(a.Replica, kind, cost.Database, cost.Statements, false, func() { done(s.now + s.rtt(a.Replica)) })
		})
	})
}

// nonce notes a nonce in Redis.
func (s *simulation) nonce(replica int, then func()) {
	if s.NoRedis {
		then()
		return
	}
	cost := s.costs[StockRead]
	shard := s.random.IntN(len(s.shards))
	s.ask(replica, []part{{shard, s.redis.Nonce}}, cost.Commands, func() func() { return then }, then)
}

// beginWrite answers a write of one record, or of several one after the other.
func (s *simulation) beginWrite(a Arrival, kind Kind, records int, done func(at float64)) {
	cost := s.costs[kind]
	s.think(a.Replica, kind, cost.Portico, func() {
		s.nonce(a.Replica, func() { s.writeRecords(a, kind, records, records, done) })
	})
}

// writeRecords writes the records that are left, each in a transaction of its own.
func (s *simulation) writeRecords(a Arrival, kind Kind, left, all int, done func(at float64)) {
	if left == 0 {
		done(s.now)
		return
	}
	each := 1 / float64(all)
	cost, nonce := s.costs[kind], s.costs[StockRead]
	micros, statements := cost.Database*each, cost.Statements*each
	tags := s.changedTags(a, kind, left)
	commands := (cost.Commands - nonce.Commands) * each
	s.query(a.Replica, kind, micros/2, statements/2, false, func() {
		s.agenda.add(s.now+s.rtt(a.Replica), func() {
			s.change(a.Replica, tags, s.redis.Change, commands/2, 1, func() {
				s.query(a.Replica, kind, micros/2, statements/2, false, func() {
					s.agenda.add(s.now+s.Commit.Seconds()+s.rtt(a.Replica), func() {
						s.change(a.Replica, tags, s.redis.Done, commands/2, -1, func() {
							s.writeRecords(a, kind, left-1, all, done)
						})
					})
				})
			})
		})
	})
}

// changedTags returns the tags whose replies a write changes. Those of a batch are of products in a
// row.
func (s *simulation) changedTags(a Arrival, kind Kind, left int) []uint64 {
	tags := []uint64{productTag((a.ID+left-2)%s.Products + 1)}
	if kind == ProductWrite {
		for i := range min(s.TagsOfWrite, s.ListTags) {
			tags = append(tags, s.listTag(a.ID+i))
		}
	}
	return tags
}

// change changes the generations of tags, and adds leases at the beginning of a write or removes them
// at its end, where it also publishes.
func (s *simulation) change(replica int, tags []uint64, micros, commands float64, leases int, then func()) {
	apply := func() {
		for _, name := range tags {
			t := s.tagOf(name)
			t.generation++
			t.leases += leases
			t.known = true
			if leases < 0 {
				t.published = [2]float64{s.now, t.published[0]}
			}
		}
		if leases < 0 {
			s.publish()
		}
	}
	if s.NoRedis {
		apply()
		then()
		return
	}
	// The work for two tags of which the replies have one, or three and more: a stock item's other tag
	// is that of all replies that show stock.
	var parts []part
	each := micros / float64(max(len(tags), 1))
	for _, name := range tags {
		parts = append(parts, part{s.shardOf(name), max(each, micros/2)})
	}
	if len(tags) == 1 {
		parts[0].micros = micros
	}
	s.ask(replica, parts, commands, func() func() {
		apply()
		return then
	}, nil)
}
