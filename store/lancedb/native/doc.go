// Package native holds the scripts that find or build the native library of LanceDB, and that bundle it
// with memcore. It has no Go code of its own; its tests run the scripts with tools that only pretend.
package native
