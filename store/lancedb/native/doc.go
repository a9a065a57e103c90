// Package native holds the scripts that find or build LanceDB's native library and bundle it with
// memcore. Its tests run them with fake tools.
package native
