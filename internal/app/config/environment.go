package config

import (
	"os"
	"slices"
	"strings"
)

const variablePrefix = "MEMCORE_"

// Variables are the environment variables that took effect.
func (c Loaded) Variables() []string {
	var names []string
	for _, s := range Known {
		if c.Origin[s.Key] == s.environment() {
			names = append(names, s.environment())
		}
	}
	return names
}

// OtherVariables are MEMCORE_ variables that are no settings and resemble none. Mistakes has those
// that resemble one.
func OtherVariables() []string {
	return slices.DeleteFunc(unknownVariables(), func(name string) bool {
		return !strings.HasPrefix(name, variablePrefix) || similarVariable(name) != ""
	})
}

// unknownVariables are variables that are no settings, though their names begin like one's.
func unknownVariables() []string {
	var names []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		known := func(s Setting) bool { return s.environment() == name }
		if hasPrefix(name) && name != serviceKey && !slices.ContainsFunc(Known, known) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
