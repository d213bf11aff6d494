// Memberlist at the work: hashicorp/memberlist with its defaults for a LAN, the state as a user
// broadcast or as the node's metadata. It prints one JSON object, as the other programs do.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"time"

	"github.com/hashicorp/memberlist"
)

// looksPerUnit looks fall on all phases of the unit: it is no whole number.
const looksPerUnit = 2.3

// report has the fields of src/report.rs.
type report struct {
	Peer               string  `json:"peer"`
	Variant            string  `json:"variant"`
	Nodes              int     `json:"nodes"`
	IntervalMs         float64 `json:"interval_ms"`
	WarmupS            float64 `json:"warmup_s"`
	MeasuredS          float64 `json:"measured_s"`
	Looks              uint64  `json:"looks"`
	MissingShare       float64 `json:"missing_share"`
	AgeAvgUnits        float64 `json:"age_avg_units"`
	AgeP99Units        float64 `json:"age_p99_units"`
	AgeMaxUnits        float64 `json:"age_max_units"`
	BytesPerNodeS      float64 `json:"bytes_per_node_s"`
	DatagramsPerNodeS  float64 `json:"datagrams_per_node_s"`
	CPUSPerNodeS       float64 `json:"cpu_s_per_node_s"`
	LookingSPerNodeS   float64 `json:"looking_s_per_node_s"`
	ResidentKiBPerNode float64 `json:"resident_kib_per_node"`
	Load1m             float64 `json:"load_1m"`
}

func main() {
	nodes := flag.Int("nodes", 64, "nodes in the process")
	unit := flag.Duration("interval", 256*time.Millisecond, "the unit of time")
	warmup := flag.Duration("warmup", 10*time.Second, "how long the nodes run before measuring")
	measure := flag.Duration("measure", 9*time.Second, "how long is measured")
	seed := flag.Uint64("seed", 1, "what phases and states are drawn from")
	metadata := flag.Bool("metadata", false, "the state as metadata instead of a user broadcast")
	flag.Parse()
	log.SetFlags(0)
	before := residentKiB()
	all, err := start(*nodes, *unit, *seed, *metadata)
	if err != nil {
		log.Fatal(err)
	}
	printed := observe(all, *unit, *warmup, *measure)
	printed.Variant = "user broadcast"
	if *metadata {
		printed.Variant = "metadata"
	}
	printed.ResidentKiBPerNode = float64(residentKiB()-before) / float64(*nodes)
	if err := json.NewEncoder(os.Stdout).Encode(printed); err != nil {
		log.Fatal(err)
	}
}

// start makes the nodes, joins them through the first, and lets each renew its state every unit, at
// a phase of its own.
func start(nodes int, unit time.Duration, seed uint64, metadata bool) ([]*node, error) {
	all := make([]*node, nodes)
	for number := range all {
		made, err := newNode(number, nodes, unit, seed, metadata)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", number, err)
		}
		all[number] = made
		if number > 0 {
			if _, err := made.list.Join([]string{all[0].list.LocalNode().Address()}); err != nil {
				return nil, fmt.Errorf("node %d does not join: %w", number, err)
			}
		}
	}
	phases := rand.New(rand.NewPCG(seed, 1))
	for _, each := range all {
		phase := time.Duration(phases.Int64N(int64(unit)))
		go each.renew(phase, unit)
	}
	return all, nil
}

func newNode(number, nodes int, unit time.Duration, seed uint64, metadata bool) (*node, error) {
	made := &node{number: number, nodes: nodes, metadata: metadata, births: make([]uint64, nodes)}
	made.filler = rand.New(rand.NewPCG(seed, uint64(number)+2))
	transport, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{"127.0.0.1"}, BindPort: 0, Logger: log.New(io.Discard, "", 0),
	})
	if err != nil {
		return nil, err
	}
	config := memberlist.DefaultLANConfig()
	config.Name = fmt.Sprintf("n%d", number)
	config.BindAddr = "127.0.0.1"
	config.BindPort = transport.GetAutoBindPort()
	config.AdvertisePort = config.BindPort
	config.Transport = &countedTransport{NetTransport: transport}
	config.GossipInterval = unit
	config.Logger = log.New(io.Discard, "", 0)
	config.Delegate = made
	config.Events = made
	made.queue.NumNodes = func() int { return nodes }
	made.queue.RetransmitMult = config.RetransmitMult
	made.list, err = memberlist.Create(config)
	return made, err
}

// observe warms up, then looks at all pictures a few times a unit.
func observe(all []*node, unit, warmup, measure time.Duration) report {
	load := load1m()
	time.Sleep(warmup)
	ages := newTally(unit)
	began, cpu, datagrams, bytes := time.Now(), cpuS(), sentDatagrams.Load(), sentBytes.Load()
	looks := time.NewTicker(time.Duration(float64(unit) / looksPerUnit))
	for time.Since(began) < measure {
		<-looks.C
		for _, each := range all {
			ages.look(each)
		}
	}
	seconds := time.Since(began).Seconds()
	perNodeS := 1 / (seconds * float64(len(all)))
	return report{
		Peer: "memberlist", Nodes: len(all), IntervalMs: float64(unit) / 1e6,
		WarmupS: warmup.Seconds(), MeasuredS: seconds,
		Looks: ages.known + ages.missing, MissingShare: ages.missingShare(),
		AgeAvgUnits: ages.total / float64(ages.known), AgeP99Units: ages.quantile(0.99),
		AgeMaxUnits:       ages.max,
		BytesPerNodeS:     float64(sentBytes.Load()-bytes) * perNodeS,
		DatagramsPerNodeS: float64(sentDatagrams.Load()-datagrams) * perNodeS,
		CPUSPerNodeS:      (cpuS() - cpu) * perNodeS,
		LookingSPerNodeS:  ages.looking.Seconds() * perNodeS,
		Load1m:            load,
	}
}
