// Package native holds the script that finds or builds LanceDB's native library. Its tests run it
// with fake tools.
package native
