//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreBrokenPipes lets writes to a closed pipe fail instead of ending the process.
func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }
