// Package saturation asks more of memcore than it can do: more clients than it takes, clients that are slow or never read, fewer files and watches than it
// wants. It has to refuse clearly, to serve the others, and to be as before when they have gone. Its tests run on Linux only: they read /proc.
package saturation
