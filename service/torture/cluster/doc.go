// Package cluster attacks a service of three nodes on one bucket: nodes are killed and stopped, the
// way to the bucket is cut and slow, while writers and readers go on. No acknowledged write may be
// lost or doubled, no read may be older than it says, and in the end every tenant must be answered
// as a fresh index of its documents answers.
//
//	make -C service torture      short; MEMCORE_CLUSTER_MINUTES=20 MEMCORE_CLUSTER_TENANTS=200 for the long form
package cluster
