package main

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// stateBytes is the length of a state: birth, number of its node, random filler.
const stateBytes = 64

// epoch is the clock of the process, on which states are born.
var epoch = time.Now()

// sentDatagrams and sentBytes are those of all nodes.
var sentDatagrams, sentBytes atomic.Uint64

func nowUs() uint64 { return uint64(time.Since(epoch).Microseconds()) + 1 }

// countedTransport is the library's own, with its datagrams counted. Streams are not.
type countedTransport struct{ *memberlist.NetTransport }

func (t *countedTransport) WriteTo(b []byte, addr string) (time.Time, error) {
	return t.WriteToAddress(b, memberlist.Address{Addr: addr})
}

func (t *countedTransport) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	sentDatagrams.Add(1)
	sentBytes.Add(uint64(len(b)))
	return t.NetTransport.WriteToAddress(b, to)
}

// node is one member and what it knows: the birth of the newest state of each other.
type node struct {
	number, nodes int
	metadata      bool
	list          *memberlist.Memberlist
	queue         memberlist.TransmitLimitedQueue
	filler        *rand.Rand
	lock          sync.Mutex
	births        []uint64
	state         []byte
}

// newState is a state born now.
func (n *node) newState() []byte {
	state := make([]byte, stateBytes)
	binary.LittleEndian.PutUint64(state, nowUs())
	binary.LittleEndian.PutUint64(state[8:], uint64(n.number))
	for at := 16; at < stateBytes; at += 8 {
		binary.LittleEndian.PutUint64(state[at:], n.filler.Uint64())
	}
	return state
}

// renew makes the node's state anew every unit, from phase on.
func (n *node) renew(phase, unit time.Duration) {
	time.Sleep(phase)
	for range time.Tick(unit) {
		state := n.newState()
		if n.metadata {
			n.lock.Lock()
			n.state = state
			n.lock.Unlock()
			_ = n.list.UpdateNode(time.Nanosecond) // it says that nobody was told yet: so be it
		} else {
			n.queue.QueueBroadcast(&broadcast{strconv.Itoa(n.number), state})
		}
	}
}

// take keeps a state if it is newer than what is held, and says so.
func (n *node) take(state []byte) (origin uint64, newer bool) {
	if len(state) < stateBytes {
		return 0, false
	}
	birth, origin := binary.LittleEndian.Uint64(state), binary.LittleEndian.Uint64(state[8:])
	if origin >= uint64(n.nodes) {
		return origin, false
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	newer = birth > n.births[origin]
	if newer {
		n.births[origin] = birth
	}
	return origin, newer
}

// broadcast is a state on its way. A newer one of the same node takes its place.
type broadcast struct {
	origin string
	state  []byte
}

func (b *broadcast) Name() string    { return b.origin }
func (b *broadcast) Message() []byte { return b.state }
func (b *broadcast) Finished()       {}
func (b *broadcast) Invalidates(other memberlist.Broadcast) bool {
	named, ok := other.(*broadcast)
	return ok && strings.EqualFold(named.origin, b.origin)
}

// NodeMeta, NotifyMsg, GetBroadcasts, LocalState and MergeRemoteState make a node a Delegate.

func (n *node) NodeMeta(int) []byte {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.state
}

func (n *node) NotifyMsg(state []byte) {
	if origin, newer := n.take(state); newer {
		kept := append([]byte(nil), state...) // the library uses the buffer again
		n.queue.QueueBroadcast(&broadcast{strconv.FormatUint(origin, 10), kept})
	}
}

func (n *node) GetBroadcasts(overhead, limit int) [][]byte {
	return n.queue.GetBroadcasts(overhead, limit)
}

func (n *node) LocalState(bool) []byte        { return nil }
func (n *node) MergeRemoteState([]byte, bool) {}

// NotifyJoin, NotifyLeave and NotifyUpdate make it an EventDelegate: metadata arrive here.

func (n *node) NotifyJoin(other *memberlist.Node)   { n.take(other.Meta) }
func (n *node) NotifyLeave(*memberlist.Node)        {}
func (n *node) NotifyUpdate(other *memberlist.Node) { n.take(other.Meta) }
