// Command simulate estimates what nodes of `memcore service` do under load: latency, requests to
// object storage, use of the nodes, and cost. It also looks for what breaks first.
//
//	go run ./internal/dev/simulate [-small] [-costs FILE] [flags]
//	go run ./internal/dev/simulate -print-costs
//
// The model: a tenant belongs to the node that its hash names. Requests are a Poisson process, and
// their tenants follow Zipf's law. A node has a queue for its cores, a number of places for
// building indexes, and two least-recently-used sets of tenants: those that are open, bounded by
// memory, and those that are on its disk. A tenant of neither is read from its log and built. An
// open tenant polls the version of its log until it has not been used for some time. Writes of a
// tenant that come during a commit share the next one.
//
// Tenants are never stored, only hashed: of a large service the busiest node and a few others are
// simulated, which hold a few percent of the tenants. Counts of the others are multiplied. The sets
// of a node start as such a load leaves them after an infinite time, or empty (-empty). The same
// flags print the same figures.
//
// Left out: the network between clients and nodes, failures and retries of storage, writes that
// reach a tenant by another node, and nodes that join or leave, except that -replaced drops tenants
// as if they had moved.
//
// Costs of single steps are assumptions until -costs names a file with measurements; costs.go says
// how each is measured. Figures of -small can be compared with a real run.
package main
