package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// Costs say what single steps take. A node's ms are time of one core; those of storage are time
// until an answer. Defaults are assumptions: the comments say from what, and how to measure each.
type Costs struct {
	// Source names the measurement in the report.
	Source string `json:"source"`

	// A retrieval from an open tenant: base + perChunk * its chunks. Measure user and system time
	// of a node divided by its retrievals, at two sizes, with all tenants open. Assumed from
	// docs/benchmarks.md: the daemon answers 601/s on 2 cores with 10,000 chunks.
	RetrieveMS         float64 `json:"retrieveMS"`
	RetrieveUSPerChunk float64 `json:"retrieveUSPerChunk"`
	// RetrieveSpread is the sigma of the log-normal time: ln(p95/p50)/1.645 of lone retrievals.
	RetrieveSpread float64 `json:"retrieveSpread"`
	// AnswerBytes is the mean body of an answer.
	AnswerBytes float64 `json:"answerBytes"`

	// To open a tenant that is on the disk. Measure as for a retrieval, with a budget of memory for
	// one tenant and questions to two in turn. Assumed: a question as a process of its own.
	ReopenMS         float64 `json:"reopenMS"`
	ReopenUSPerChunk float64 `json:"reopenUSPerChunk"`

	// To build a tenant: rows to files and chunks, then keywords; then it can answer by words.
	// Measure a node's time between the end of the scan and its first answer, one tenant at a time.
	// Assumed: 10,000 new files can be found after 7.5 s under load.
	BuildMS         float64 `json:"buildMS"`
	BuildUSPerChunk float64 `json:"buildUSPerChunk"`
	// Embedding. Measure with `memcore index` of a million tokens and an empty cache.
	EmbedSecondsPerMTokens float64 `json:"embedSecondsPerMTokens"`
	TokensPerChunk         float64 `json:"tokensPerChunk"`
	// VectorsCached is the share of a cold tenant's chunks that the cache of embeddings has.
	// Measure chunks embedded against chunks built, after nodes were replaced.
	VectorsCached float64 `json:"vectorsCached"`

	// Sizes: du of the table, and of a tenant's folder on a node, divided by chunks; resident
	// memory of a node with few and with many open tenants. Assumed from docs/benchmarks.md: index
	// and cache of 5,099 chunks take 27.6 MB, 10,000 chunks 118 MB in a process that also has a
	// model.
	LogBytesPerChunk    float64 `json:"logBytesPerChunk"`
	DiskBytesPerChunk   float64 `json:"diskBytesPerChunk"`
	MemoryBytes         float64 `json:"memoryBytes"`
	MemoryBytesPerChunk float64 `json:"memoryBytesPerChunk"`

	// A write. CommitMS is the node's own time before the answer, CommitAsideMS that after it:
	// measure both as for a retrieval, writes only. Count requests in the storage's log, without
	// the poll before. Assumed: Lance's protocol.
	ChunksPerWrite float64 `json:"chunksPerWrite"`
	CommitMS       float64 `json:"commitMS"`
	CommitAsideMS  float64 `json:"commitAsideMS"`
	CommitGets     float64 `json:"commitGets"`
	CommitPuts     float64 `json:"commitPuts"`
	// Compaction after so many appends. Measure a log that is compacted alone, at two sizes.
	CompactAfter      float64 `json:"compactAfter"`
	CompactUSPerChunk float64 `json:"compactUSPerChunk"`
	CompactPuts       float64 `json:"compactPuts"`

	// A poll of a log's version: PollMS delays what waits for it, PollAsideMS does not. Count
	// requests of an idle open tenant in the storage's log, and measure the time of a node with
	// 1,000 of them.
	PollMS      float64 `json:"pollMS"`
	PollAsideMS float64 `json:"pollAsideMS"`
	PollLists   float64 `json:"pollLists"`
	PollGets    float64 `json:"pollGets"`

	// The scan of a log: latest version and manifest, then gets for the whole and for each
	// fragment, some at a time, at a rate. Count requests and measure its time, at two sizes and
	// two numbers of fragments.
	ScanGets            float64 `json:"scanGets"`
	ScanGetsPerFragment float64 `json:"scanGetsPerFragment"`
	ScanParallel        float64 `json:"scanParallel"`
	ScanMBPerSecond     float64 `json:"scanMBPerSecond"`

	// Storage: time to answer a small request, log-normal. Measure from a node with a file of 4 KB.
	// Assumed: S3 in the same region.
	GetP50MS float64 `json:"getP50MS"`
	GetP99MS float64 `json:"getP99MS"`
	PutP50MS float64 `json:"putP50MS"`
	PutP99MS float64 `json:"putP99MS"`
}

func assumedCosts() Costs {
	return Costs{
		Source:     "assumed, not measured",
		RetrieveMS: 1.5, RetrieveUSPerChunk: 0.2, RetrieveSpread: 0.25, AnswerBytes: 4000,
		ReopenMS: 30, ReopenUSPerChunk: 2,
		BuildMS: 50, BuildUSPerChunk: 300,
		EmbedSecondsPerMTokens: 60, TokensPerChunk: 80, VectorsCached: 0.9,
		LogBytesPerChunk: 600, DiskBytesPerChunk: 6000, MemoryBytes: 1e6, MemoryBytesPerChunk: 3000,
		ChunksPerWrite: 2, CommitMS: 3, CommitGets: 1, CommitPuts: 3,
		CompactAfter: 64, CompactUSPerChunk: 20, CompactPuts: 6,
		PollMS: 0.3, PollLists: 1, PollGets: 0.5,
		ScanGetsPerFragment: 2, ScanParallel: 8, ScanMBPerSecond: 60,
		GetP50MS: 15, GetP99MS: 90, PutP50MS: 30, PutP99MS: 180,
	}
}

// readCosts replaces those costs that the file names.
func readCosts(path string, c *Costs) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	c.Source = "" // a file with measurements has to say whose they are, or else its name does
	if err := d.Decode(c); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if c.Source == "" {
		c.Source = path
	}
	if c.ScanParallel < 1 || c.CompactAfter < 1 || c.VectorsCached > 1 ||
		c.GetP50MS <= 0 || c.GetP99MS < c.GetP50MS || c.PutP50MS <= 0 || c.PutP99MS < c.PutP50MS {
		return fmt.Errorf("%s: scanParallel and compactAfter have to be 1 or more, vectorsCached 1 or less, and p50 above 0, not above p99", path)
	}
	return nil
}

// Seconds of a core.
func (c *Costs) retrieve(chunks float64) float64 {
	return c.RetrieveMS/1e3 + c.RetrieveUSPerChunk/1e6*chunks
}

func (c *Costs) reopen(chunks float64) float64 {
	return c.ReopenMS/1e3 + c.ReopenUSPerChunk/1e6*chunks
}

func (c *Costs) build(chunks float64) float64 {
	return c.BuildMS/1e3 + c.BuildUSPerChunk/1e6*chunks
}

func (c *Costs) embed(chunks float64) float64 {
	return chunks * c.TokensPerChunk / 1e6 * c.EmbedSecondsPerMTokens
}
