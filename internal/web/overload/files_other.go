//go:build !unix

package overload

func maxFiles() (n uint64, known bool) { return 0, false }
