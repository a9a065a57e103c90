// Package cluster attacks a service of three nodes on one PostgreSQL: nodes are killed and stopped,
// the server crashes and recovers or is restarted, the way to it is cut and slow, while writers and
// readers go on. No acknowledged write may be lost, doubled or half there, no read and no search
// may be older than it says, every refusal has to say why, and in the end every tenant must be
// answered as a fresh index of its documents answers.
//
//	make -C service torture      short; MEMCORE_CLUSTER_MINUTES=20 MEMCORE_CLUSTER_TENANTS=200 for the long form
package cluster
