//go:build (!amd64 && !arm64) || purego || noasm

package kernel

// Sets are the sets of this machine.
func Sets() []*Set { return usable }

var usable = []*Set{portable}
