package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/memcore/memcore/core/source/resource"
)

// An MCPServer is one of memory.mcp. memcore runs its command, so only the user may name it.
type MCPServer struct {
	Name         string        `yaml:"name"`
	Command      string        `yaml:"command"`
	Args         []string      `yaml:"args"`
	Env          []string      `yaml:"env"` // names of variables
	URL          string        `yaml:"url"`
	TokenEnv     string        `yaml:"tokenenv"`
	Resources    []string      `yaml:"resources"`
	MaxResources int           `yaml:"maxresources"`
	MaxBytes     int64         `yaml:"maxbytes"`
	Timeout      time.Duration `yaml:"timeout"`
}

// mcpServers reads a list, or its YAML or JSON, with keys in any case.
func mcpServers(value any) (any, error) {
	if text, ok := value.(string); ok {
		value = nil
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return nil, errors.New("a list of MCP servers")
		}
	}
	list, ok := value.([]any)
	if !ok {
		return nil, errors.New("a list of MCP servers")
	}
	all := make([]MCPServer, 0, len(list))
	names := map[string]bool{}
	for _, item := range list {
		s, err := mcpServerOf(item)
		if err != nil {
			return nil, fmt.Errorf("a list of MCP servers, each with a name and a command or url: %w", err)
		}
		if names[strings.ToLower(s.Name)] {
			return nil, fmt.Errorf("servers of different names, not two called %s", s.Name)
		}
		names[strings.ToLower(s.Name)] = true
		all = append(all, s)
	}
	return all, nil
}

func mcpServerOf(item any) (s MCPServer, err error) {
	fields, ok := item.(map[string]any)
	if !ok {
		return s, fmt.Errorf("%s is none", shown(item))
	}
	lower := make(map[string]any, len(fields))
	for key, value := range fields {
		lower[strings.ToLower(key)] = value
	}
	data, err := yaml.Marshal(lower)
	if err != nil {
		return s, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&s); err != nil {
		var wrong *yaml.TypeError
		if errors.As(err, &wrong) { // without line numbers
			_, reason, _ := strings.Cut(wrong.Errors[0], ": ")
			return s, errors.New(strings.ReplaceAll(reason, " in type config.MCPServer", ""))
		}
		return s, err
	}
	return s, s.Server(nil, "").Check()
}

// shortestSecret is the least length of a key; shorter values are numbers and levels.
const shortestSecret = 8

// Server adds an environment and a folder.
func (s MCPServer) Server(environment []string, dir string) resource.Server {
	r := resource.Server{Name: s.Name, Command: s.Command, Args: s.Args, Dir: dir, URL: s.URL, Resources: s.Resources,
		MaxResources: s.MaxResources, MaxBytes: s.MaxBytes, Timeout: s.Timeout}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		if OfSystem().MatchString(name) || slices.Contains(s.Env, name) {
			r.Env = append(r.Env, variable)
		}
		if slices.Contains(s.Env, name) && len(value) >= shortestSecret {
			r.Secrets = append(r.Secrets, value)
		}
		if s.TokenEnv != "" && name == s.TokenEnv {
			r.Token = value
		}
	}
	return r
}
