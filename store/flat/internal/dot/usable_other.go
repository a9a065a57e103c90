//go:build !amd64 || purego || noasm

package dot

var usable = []implementation{portable}
