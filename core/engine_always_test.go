//go:build lancedbalways

package core_test

func init() { defaultEngine = "lancedb" }
