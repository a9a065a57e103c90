//go:build lancedbalways

package main

func init() { alwaysLanceDB = true }
