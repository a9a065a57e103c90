package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/memcore/memcore/core/source/resource"
)

// An MCPServer is one of memory.mcp. memcore runs its command, so only the user may name it.
type MCPServer struct {
	Name         string
	Command      string
	Args, Env    []string // Env has names of variables
	URL          string
	TokenEnv     string
	Resources    []string
	MaxResources int
	MaxBytes     int64
	Timeout      time.Duration
}

// mcpServers reads a list, or its YAML or JSON, with keys in any case.
func mcpServers(value any) (any, error) {
	if servers, ok := value.([]MCPServer); ok {
		return servers, nil
	}
	if text, ok := value.(string); ok {
		value = nil
		_ = yaml.Unmarshal([]byte(text), &value) // another text is no list
	}
	if _, ok := value.([]any); !ok {
		return nil, errors.New("a list of MCP servers")
	}
	read := viper.New()
	read.Set("servers", value)
	all := struct{ Servers []MCPServer }{[]MCPServer{}}
	err := read.UnmarshalExact(&all)
	names := map[string]bool{}
	for _, s := range all.Servers {
		if err == nil {
			err = s.Server(nil, "").Check()
		}
		if names[strings.ToLower(s.Name)] {
			return nil, fmt.Errorf("servers of different names, not two called %s", s.Name)
		}
		names[strings.ToLower(s.Name)] = true
	}
	if err != nil {
		return nil, fmt.Errorf("a list of MCP servers, each with a name and a command or url: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return all.Servers, nil
}

// minSecret is the least length of a key; shorter values are numbers and levels.
const minSecret = 8

// Server adds an environment and a folder.
func (s MCPServer) Server(environment []string, dir string) resource.Server {
	r := resource.Server{Name: s.Name, Command: s.Command, Args: s.Args, Dir: dir, URL: s.URL, Resources: s.Resources,
		MaxResources: s.MaxResources, MaxBytes: s.MaxBytes, Timeout: s.Timeout}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		if OfSystem().MatchString(name) || slices.Contains(s.Env, name) {
			r.Env = append(r.Env, variable)
		}
		if slices.Contains(s.Env, name) && len(value) >= minSecret {
			r.Secrets = append(r.Secrets, value)
		}
		if s.TokenEnv != "" && name == s.TokenEnv {
			r.Token = value
		}
	}
	return r
}
