//go:build !unix

package workspace

// Mark returns "": files have no number that could be compared.
func (p Project) Mark() string { return "" }
