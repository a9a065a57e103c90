// Package cluster attacks a service of three nodes on one PostgreSQL with a synchronous replica: nodes
// are killed and stopped, the server crashes and recovers, is restarted, or is lost with its disk so
// that the replica takes its place, the way to it is cut and slow, while writers and readers go on,
// half of them at three of the tenants. No acknowledged write may be lost, doubled or half there, no
// read and no search may be older than it says, every refusal has to say why, and in the end every
// tenant must be answered as a fresh index of its documents answers.
//
//	make -C service torture      short; MEMCORE_CLUSTER_MINUTES=20 MEMCORE_CLUSTER_TENANTS=200 for the long form
package cluster
