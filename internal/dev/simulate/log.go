package main

import "math"

// check asks for the version of a log.
func (n *node) check(i int, done func()) {
	sent := n.now
	n.after(n.request(i, lists, n.PollLists)+n.request(i, gets, n.PollGets), func() {
		n.tenants[i].checkedAt = sent
		n.cpu.do(n.PollMS/1e3, func() {
			n.cpu.do(n.PollAsideMS/1e3, func() {})
			done()
		})
	})
}

// poll checks a tenant for as long as it is in use.
func (n *node) poll(i int) {
	t := &n.tenants[i]
	if n.now-t.usedAt > n.InUse || !n.open.has(i) {
		t.polling = false
		return
	}
	n.check(i, func() {})
	n.after(n.Freshness, func() { n.poll(i) })
}

// build reads a log and makes an index. answers is called when it can find words.
func (n *node) build(i int, answers func()) {
	t := &n.tenants[i]
	since := n.start()
	n.after(n.scan(i), func() {
		t.checkedAt = n.now
		n.builds.enter(func() {
			n.cpu.do(n.Costs.build(t.chunks), func() {
				answers()
				n.wrote(t.chunks)
				n.embed(t.chunks*(1-n.VectorsCached), func() {
					n.stop(since, &n.result.complete)
					n.builds.leave()
				})
			})
		})
	})
}

// scan returns the time to read a log.
func (n *node) scan(i int) float64 {
	t := &n.tenants[i]
	seconds := n.request(i, lists, 1) + n.request(i, gets, 1)
	left := math.Ceil(n.ScanGets + float64(t.appends+1)*n.ScanGetsPerFragment)
	for ; left > 0; left -= n.ScanParallel {
		slowest := 0.
		for range int(min(left, n.ScanParallel)) {
			slowest = max(slowest, n.request(i, gets, 1))
		}
		seconds += slowest
	}
	return seconds + n.read(t.chunks)/(n.ScanMBPerSecond*1e6)
}

func (n *node) writeTo(i int) {
	since := n.start()
	n.prepare(i, func(state, bool) {
		t := &n.tenants[i]
		t.next = append(t.next, func() { n.stop(since, &n.result.write) })
		n.commit(i)
	})
}

// commit appends all waiting writes of a tenant, unless it is doing so.
func (n *node) commit(i int) {
	t := &n.tenants[i]
	if t.committing || len(t.next) == 0 {
		return
	}
	group := t.next
	t.committing, t.next = true, nil
	n.cpu.do(n.CommitMS/1e3, func() {
		n.after(n.request(i, gets, n.CommitGets)+n.request(i, puts, n.CommitPuts), func() {
			for _, done := range group {
				done()
			}
			n.cpu.do(n.CommitAsideMS/1e3, func() {})
			chunks := float64(len(group)) * n.ChunksPerWrite
			n.wrote(chunks)
			n.cpu.do(chunks*n.BuildUSPerChunk/1e6, func() { n.embed(chunks, func() {}) })
			if t.appends++; t.appends >= int(n.CompactAfter) {
				n.compact(i)
			}
			t.committing = false
			n.commit(i)
		})
	})
}

// compact rewrites a log beside everything else.
func (n *node) compact(i int) {
	t := &n.tenants[i]
	n.after(n.scan(i), func() {
		n.request(i, puts, n.CompactPuts)
		n.cpu.do(t.chunks*n.CompactUSPerChunk/1e6, func() {})
	})
	t.appends = 0
}

func (n *node) embed(chunks float64, done func()) {
	if n.measuring {
		n.result.embedded += chunks * n.TokensPerChunk * n.share.stands
	}
	n.cpu.do(n.Costs.embed(chunks), done)
}

// request counts requests to storage that follow each other, and returns their time. A fraction
// is the probability of one more.
func (n *node) request(i int, k kind, count float64) (seconds float64) {
	times := int(count)
	if n.random.Float64() < count-float64(times) {
		times++
	}
	p50, p99 := n.GetP50MS, n.GetP99MS
	if k == puts {
		p50, p99 = n.PutP50MS, n.PutP99MS
	}
	for range times {
		seconds += p50 / 1e3 * math.Exp(math.Log(p99/p50)/2.326*n.random.NormFloat64())
	}
	if n.measuring {
		n.result.requests[k] += float64(times) * n.share.stands
		n.tenants[i].requests[k] += float64(times)
	}
	return seconds
}

// read counts and returns the bytes of a log.
func (n *node) read(chunks float64) float64 {
	bytes := chunks * n.LogBytesPerChunk
	if n.measuring {
		n.result.scanned += bytes * n.share.stands
	}
	return bytes
}

func (n *node) wrote(chunks float64) {
	if n.measuring {
		n.written += chunks * n.DiskBytesPerChunk
	}
}
