package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/web/origin"
)

// Operator is the user of requests with the operator's key. No tenant has a user of this name.
const Operator = "Operator"

// IsOperators reports whether a secret is the operator's key, which may be none.
func (o Options) isOperators(secret string) bool {
	return o.OperatorKey != "" && origin.IsToken(secret, o.OperatorKey)
}

// operate adds the routes of the operator, who manages tenants.
func (s *Server) operate() {
	for route, do := range map[string]func(http.ResponseWriter, *http.Request) (any, error){
		"GET /v1/tenants":             s.listTenants,
		"POST /v1/tenants":            s.createTenant,
		"PATCH /v1/tenants/{tenant}":  s.setTenant,
		"DELETE /v1/tenants/{tenant}": s.deleteTenant,
	} {
		s.routes.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			secret := origin.Bearer(r)
			if !s.o.isOperators(secret) {
				s.challenge(w, r, secret != "")
				s.fail(w, &httpapi.Error{Status: http.StatusUnauthorized, Message: "this needs the operator's key"})
				return
			}
			if a := accessOf(r.Context()); a != nil {
				a.User = Operator
			}
			out, err := do(w, r)
			if err != nil {
				s.fail(w, err)
				return
			}
			httpapi.Reply(w, http.StatusOK, out)
		})
	}
}

func (s *Server) listTenants(_ http.ResponseWriter, r *http.Request) (any, error) {
	all, err := s.o.Tenants.List(r.Context())
	return map[string][]Tenant{"tenants": all}, err
}

func (s *Server) createTenant(w http.ResponseWriter, r *http.Request) (any, error) {
	var asked struct {
		Name string `json:"name"`
	}
	if err := s.decode(w, r, &asked); err != nil {
		return nil, err
	}
	return s.o.Tenants.Create(r.Context(), asked.Name)
}

// setTenant changes the settings that the body names.
func (s *Server) setTenant(w http.ResponseWriter, r *http.Request) (any, error) {
	var asked json.RawMessage
	if err := s.decode(w, r, &asked); err != nil {
		return nil, err
	}
	return s.o.Tenants.Set(r.Context(), r.PathValue("tenant"), func(settings *Settings) error {
		if err := decodeStrictly(asked, settings); err != nil {
			return badBody(err)
		}
		return nil
	})
}

func (s *Server) deleteTenant(_ http.ResponseWriter, r *http.Request) (any, error) {
	name := r.PathValue("tenant")
	return map[string]string{"deleted": name}, s.o.Tenants.Delete(r.Context(), name)
}

// decode decodes a small body.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, into any) error {
	data, free, err := s.bodies.Read(w, r, largeBody, 10*time.Second)
	defer free()
	if err == nil {
		err = decodeStrictly(data, into)
	}
	if err != nil {
		return badBody(err)
	}
	return nil
}

func badBody(err error) error {
	var answer *httpapi.Error
	if errors.As(err, &answer) {
		return err
	}
	return &httpapi.Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("the body is not valid here: %v; GET /v1/openapi.json describes it", err)}
}
