package tenants

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/inject/service"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/web/origin"
	"github.com/memcore/memcore/store"
)

// A Tenant is an owner of a memory that it shares with no other.
type Tenant struct {
	Name    string    `json:"name"`
	ID      string    `json:"id"` // also of its folder in the storage; a tenant with a used name gets another
	Created time.Time `json:"created"`
}

// A Registry keeps tenants and API keys in a log of the storage. It is safe for concurrent use by
// any number of processes.
type Registry struct {
	log store.Changelog
	age time.Duration // of what is known, at most

	changing lock // held while this process appends

	mu      sync.Mutex // of what follows; nobody waits for the storage with it
	mark    store.Mark
	asked   time.Time
	asking  chan struct{}        // while the log is being read; closed when it was
	tenants map[string]Tenant    // by name
	keys    map[string]storedKey // by ID
	failed  time.Time            // when the log was last asked in vain
	failure error
	removed func(Tenant) // may be nil
}

// A storedKey has the hash of its secret instead.
type storedKey struct {
	service.Key
	Hash string `json:"hash"`
}

// System is the path of the registry's log.
const System = "system"

// NewRegistry returns the registry in a log. It asks the log again after an age.
func NewRegistry(log store.Changelog, age time.Duration) *Registry {
	return &Registry{log: log, age: age, changing: make(lock, 1), tenants: map[string]Tenant{}, keys: map[string]storedKey{}}
}

const (
	registryTimeout = 10 * time.Second
	// registryPause is without questions after a failed one: not every request waits for a storage
	// that is away.
	registryPause = time.Second
)

// Paths in the log.
const (
	tenantsPath = "tenants/"
	keysPath    = "keys/"
)

// fresh reads the log if what is known is older than an age. Requests at the same time share a
// question, which does not end with one of them.
func (r *Registry) fresh(ctx context.Context, age time.Duration) error {
	for begun := time.Now(); ; {
		r.mu.Lock()
		isKnown, failure := !r.asked.Before(begun.Add(-age)), r.failure
		isAway := failure != nil && (!r.failed.Before(begun) || age > 0 && begun.Sub(r.failed) < registryPause)
		if !isKnown && !isAway && r.asking == nil {
			r.asking = make(chan struct{})
			go r.ask(r.asking)
		}
		asking := r.asking
		r.mu.Unlock()
		switch {
		case isKnown:
			return nil
		case isAway:
			return failure
		}
		select {
		case <-asking:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask reads the log.
func (r *Registry) ask(done chan struct{}) {
	ctx, stop := context.WithTimeout(context.Background(), registryTimeout)
	defer stop()
	r.mu.Lock()
	mark := r.mark
	r.mu.Unlock()
	asked := time.Now()
	since, next, err := r.log.Since(ctx, mark)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(done)
	r.asking = nil
	if err != nil {
		r.failed, r.failure = time.Now(), kind.As(kind.Unavailable, fmt.Errorf("tenants and keys cannot be read: %w", err))
		return
	}
	r.reached(since, next)
	r.asked, r.failure = asked, nil
}

// reached applies what follows a mark that was known, unless more is known by now. The caller holds
// mu.
func (r *Registry) reached(since []store.Revision, next store.Mark) {
	if next.Order >= r.mark.Order {
		r.apply(since)
		r.mark = next
	}
}

// onRemoval sets what is called, aside, for each tenant that is found to be removed.
func (r *Registry) onRemoval(do func(Tenant)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed = do
}

func (r *Registry) apply(revisions []store.Revision) {
	for _, rev := range revisions {
		if name, ok := strings.CutPrefix(rev.Path, tenantsPath); ok {
			var t Tenant
			isNone := rev.Gone || json.Unmarshal([]byte(rev.Text), &t) != nil || t.Name != name
			if former, known := r.tenants[name]; known && (isNone || t.ID != former.ID) && r.removed != nil {
				go r.removed(former)
			}
			if isNone {
				delete(r.tenants, name)
				continue
			}
			r.tenants[name] = t
		}
		if id, ok := strings.CutPrefix(rev.Path, keysPath); ok {
			var k storedKey
			if rev.Gone || json.Unmarshal([]byte(rev.Text), &k) != nil || k.ID != id {
				delete(r.keys, id)
				continue
			}
			r.keys[id] = k
		}
	}
}

const (
	// mostChanges bounds how often a change is tried while others change the registry, and
	// longestPause the time between.
	mostChanges  = 50
	longestPause = 100 * time.Millisecond
)

// change appends what prepare returns, after the newest state. prepare is called with mu held.
func (r *Registry) change(ctx context.Context, by string, prepare func() ([]store.Revision, error)) error {
	ctx, stop := context.WithTimeout(ctx, writeTimeout)
	defer stop()
	if err := r.changing.within(ctx); err != nil {
		return err
	}
	defer r.changing.Unlock()
	for range mostChanges {
		if err := r.fresh(ctx, 0); err != nil {
			return err
		}
		r.mu.Lock()
		revisions, err := prepare()
		mark := r.mark
		r.mu.Unlock()
		if err != nil || len(revisions) == 0 {
			return err
		}
		for i := range revisions {
			revisions[i].By, revisions[i].At = by, time.Now().UTC().Truncate(time.Microsecond)
		}
		since, next, err := r.log.Append(ctx, revisions, mark)
		if err == nil || errors.Is(err, store.ErrBehind) {
			r.mu.Lock()
			r.reached(since, next)
			r.mu.Unlock()
		}
		if !errors.Is(err, store.ErrBehind) {
			return err
		}
		select {
		case <-time.After(time.Duration(mathrand.Int64N(int64(longestPause)))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return kind.As(kind.Conflict, errors.New("others keep changing tenants or keys: try again"))
}

func revisionOf(path string, value any) store.Revision {
	text, _ := json.Marshal(value) // texts and times always encode
	return store.Revision{Path: path, Text: string(text)}
}

// Tenants returns all tenants, by name.
func (r *Registry) Tenants(ctx context.Context) ([]Tenant, error) {
	if err := r.fresh(ctx, 0); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Tenant
	for _, t := range r.tenants {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Tenant) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Exists reports whether there is a tenant with an ID now.
func (r *Registry) Exists(ctx context.Context, id string) (bool, error) {
	all, err := r.Tenants(ctx)
	return slices.ContainsFunc(all, func(t Tenant) bool { return t.ID == id }), err
}

// errNoTenant is for names that no tenant has.
func errNoTenant(name string) error {
	return kind.Hint(kind.As(kind.NotFound, fmt.Errorf("there is no tenant %.80q", name)), "'memcore service tenant list' lists them")
}

// Tenant returns the tenant with a name, as it was not longer than the registry's age ago.
func (r *Registry) Tenant(ctx context.Context, name string) (Tenant, error) {
	if err := r.fresh(ctx, r.age); err != nil {
		return Tenant{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.tenants[name]
	if !ok {
		return Tenant{}, errNoTenant(name)
	}
	return t, nil
}

// CreateTenant adds a tenant.
func (r *Registry) CreateTenant(ctx context.Context, by, name string) (Tenant, error) {
	if err := checkName("tenant", name); err != nil {
		return Tenant{}, err
	}
	t := Tenant{Name: name, ID: name + "-" + strings.ToLower(rand.Text()[:8]), Created: time.Now().UTC().Truncate(time.Second)}
	return t, r.change(ctx, by, func() ([]store.Revision, error) {
		if _, exists := r.tenants[name]; exists {
			return nil, kind.As(kind.Conflict, fmt.Errorf("there is a tenant %s already", name))
		}
		return []store.Revision{revisionOf(tenantsPath+name, t)}, nil
	})
}

// RemoveTenant removes a tenant and its keys, but not its documents. It returns the former tenant.
func (r *Registry) RemoveTenant(ctx context.Context, by, name string) (former Tenant, err error) {
	err = r.change(ctx, by, func() ([]store.Revision, error) {
		t, ok := r.tenants[name]
		if !ok {
			return nil, errNoTenant(name)
		}
		former = t
		gone := []store.Revision{{Path: tenantsPath + name, Gone: true}}
		for _, k := range r.keys {
			if k.Tenant == name {
				gone = append(gone, store.Revision{Path: keysPath + k.ID, Gone: true})
			}
		}
		return gone, nil
	})
	return former, err
}

// keyMark begins every API key, so that scanners of secrets can find one.
const keyMark = "mck"

// Bounds of what tenants may put into the registry, which all nodes hold.
const (
	mostKeys    = 1000 // of a tenant
	longestName = 200  // of a key, in bytes
)

// CreateKey adds a key and returns it with its secret, which is not stored.
func (r *Registry) CreateKey(ctx context.Context, by string, k service.Key) (service.Key, error) {
	teams, err := teamsOf(k.Teams)
	if err := cmp.Or(checkName("tenant", k.Tenant), checkName("user", k.User), err); err != nil {
		return service.Key{}, err
	}
	k.Teams = teams
	if !slices.Contains(service.AllRights, k.Right) {
		return service.Key{}, kind.Usagef("right is %.80q, want one of %q", k.Right, service.AllRights)
	}
	if len(k.Name) > longestName || !utf8.ValidString(k.Name) || strings.ContainsFunc(k.Name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return service.Key{}, kind.Usagef("the name of the key is %.80q, want at most %d bytes that can be printed", k.Name, longestName)
	}
	if !k.Expires.IsZero() && !k.Expires.After(time.Now()) {
		return service.Key{}, kind.Usagef("the key would have expired at %s", k.Expires.Format(time.RFC3339))
	}
	secret := strings.ToLower(rand.Text())
	k.ID, k.Created, k.Secret = strings.ToLower(rand.Text()[:12]), time.Now().UTC().Truncate(time.Second), ""
	err = r.change(ctx, by, func() ([]store.Revision, error) {
		if _, ok := r.tenants[k.Tenant]; !ok {
			return nil, errNoTenant(k.Tenant)
		}
		has := 0
		for _, other := range r.keys {
			if other.Tenant == k.Tenant {
				has++
			}
		}
		if has >= mostKeys {
			return nil, kind.As(kind.Conflict, fmt.Errorf("tenant %s has %d keys already: revoke some", k.Tenant, has))
		}
		return []store.Revision{revisionOf(keysPath+k.ID, storedKey{k, hashOf(secret)})}, nil
	})
	if err != nil { // it may exist all the same, but nobody can use it
		return service.Key{}, err
	}
	k.Secret = strings.Join([]string{keyMark, k.ID, secret}, "_")
	return k, nil
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret)) // of 128 random bits: no slow hash is needed
	return hex.EncodeToString(sum[:])
}

// Keys returns the keys of a tenant without their hashes, oldest first.
func (r *Registry) Keys(ctx context.Context, tenant string) ([]service.Key, error) {
	if err := r.fresh(ctx, 0); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []service.Key{}
	for _, k := range r.keys {
		if k.Tenant == tenant {
			all = append(all, k.Key)
		}
	}
	slices.SortFunc(all, func(a, b service.Key) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// RevokeKey removes a key of a tenant.
func (r *Registry) RevokeKey(ctx context.Context, by, tenant, id string) error {
	return r.change(ctx, by, func() ([]store.Revision, error) {
		if k, ok := r.keys[id]; !ok || k.Tenant != tenant {
			return nil, kind.As(kind.NotFound, fmt.Errorf("tenant %s has no key %.80q", tenant, id))
		}
		return []store.Revision{{Path: keysPath + id, Gone: true}}, nil
	})
}

// Authenticate returns who has a key. The answer is not older than the registry's age; without the
// storage there is none.
func (r *Registry) Authenticate(ctx context.Context, secret string) (service.Principal, error) {
	parts := strings.Split(secret, "_")
	if len(parts) != 3 || parts[0] != keyMark {
		return service.Principal{}, service.ErrKey
	}
	// A key may be newer than what is known. Those who guess keys make the log asked no more often.
	for _, age := range []time.Duration{r.age, min(r.age, newKeyAge)} {
		if err := r.fresh(ctx, age); err != nil {
			return service.Principal{}, err
		}
		if p, ok := r.principal(parts[1], parts[2]); ok {
			return p, nil
		}
	}
	return service.Principal{}, service.ErrKey
}

// newKeyAge is how long after it was made a key may still be refused.
const newKeyAge = 200 * time.Millisecond

// principal returns who has a key, as far as is known.
func (r *Registry) principal(id, secret string) (p service.Principal, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, isKey := r.keys[id]
	if !origin.IsToken(hashOf(secret), k.Hash) || !isKey ||
		!k.Expires.IsZero() && !time.Now().Before(k.Expires) {
		return p, false
	}
	t, ok := r.tenants[k.Tenant]
	return service.Principal{Tenant: t.Name, TenantID: t.ID, User: k.User, Teams: k.Teams, Key: k.ID, Right: k.Right, Expires: k.Expires}, ok
}
