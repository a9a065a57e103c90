//go:build (!amd64 && !arm64) || purego || noasm

package kernel

// Sets are the sets this machine can run, fastest first, the portable one last.
func Sets() []*Set { return usable }

var usable = []*Set{portable}
