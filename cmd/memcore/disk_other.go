//go:build !linux && !darwin && !windows

package main

import "errors"

// freeSpace is not known here.
func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }
