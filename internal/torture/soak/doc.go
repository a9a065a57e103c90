// Package soak runs memcore for long under everything that it is used for at once, and looks whether it holds more and more: memory, goroutines, descriptors,
// threads, processes, files. Its tests run on Linux only: they read /proc. MEMCORE_TORTURE_SOAK names a file that gets the figures,
// of which `daemonbench -soak` makes the plot of docs/soak.svg.
package soak
