// Package privilege attacks what memcore may do and what it gives away: the permissions of what it writes, the pages that a browser could be shown, the
// addresses that it connects to, and the secrets that pass through its hands. It has tests only, which run every command of the built program.
package privilege
