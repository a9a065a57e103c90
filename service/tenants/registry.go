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
	"io/fs"
	"iter"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/web/origin"
	"github.com/memcore/memcore/internal/web/overload"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/store"
	index "github.com/memcore/memcore/store"
)

// A Tenant owns a memory and shares nothing with others.
type Tenant struct {
	Name    string    `json:"name"`
	ID      string    `json:"id"` // also of its folder in the storage; a tenant with a used name gets another
	Created time.Time `json:"created"`
	Settings
}

// A Registry keeps tenants and API keys in the storage, in one object for each name: a request
// costs the same however many there are. It is safe for concurrent use by any number of processes.
type Registry struct {
	objects store.Objects
	age     time.Duration // of what is known, at most

	storage *entry         // says whether the storage answers
	guesses *rate.Limiter  // of names that may not exist
	slots   overload.Slots // of the same

	entries
	removed func(Tenant) // may be nil; entries are locked
}

// A storedKey has the hash of its secret, not the secret.
type storedKey struct {
	service.Key
	Hash string `json:"hash"`
}

// A record is the object of a name.
type record struct {
	Format  int         `json:"format"`
	Tenant  *Tenant     `json:"tenant,omitempty"` // nil if it was removed
	Keys    []storedKey `json:"keys,omitempty"`   // oldest first
	Former  []string    `json:"former,omitempty"` // IDs of removed tenants, which are not used again
	Changes []change    `json:"changes"`          // the last ones
}

// A change of a record.
type change struct {
	ID   string    `json:"id"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// recordFormat increases with new fields: an older release would lose them.
const recordFormat = 1

// Bounds of what a node keeps and asks.
const (
	mostWeight    = 200_000 // keys and tenants that are known
	mostStrangers = 10_000  // names that no tenant has
	// guessesPerSecond and guessesAtOnce bound questions to the storage about names that this node
	// does not know. Known tenants do not wait for them.
	guessesPerSecond = 100
	guessesAtOnce    = 16
	guessesInBurst   = 2000
	guessWait        = time.Second
)

// NewRegistry returns the registry in objects. What it knows is at most an age old.
func NewRegistry(objects store.Objects, age time.Duration) *Registry {
	r := &Registry{objects: objects, age: age, storage: newEntry(noName), guesses: rate.NewLimiter(guessesPerSecond, guessesInBurst),
		slots: make(overload.Slots, guessesAtOnce)}
	r.known, _ = lru.NewLRU[string, *entry](mostWeight, nil) // fails for sizes below 1
	r.strangers, _ = lru.NewLRU[string, *entry](mostStrangers, nil)
	return r
}

// Folders of the registry in the storage.
const (
	registryFolder = "registry"
	removalsFolder = "removals" // has an object for each tenant that was removed lately
)

// noName is no tenant's.
const noName = "-"

func recordPath(name string) string { return registryFolder + "/" + name + ".json" }

// onRemoval sets a function to call, in a goroutine, for each removed tenant.
func (r *Registry) onRemoval(do func(Tenant)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed = do
}

const (
	// mostChanges bounds the attempts while others change the same tenant, longestPause the time
	// between them.
	mostChanges  = 50
	longestPause = 100 * time.Millisecond
	// mostTrail bounds record.Changes.
	mostTrail = 100
)

// change lets prepare change the record of a name.
func (r *Registry) change(ctx context.Context, by, name, what string, prepare func(*record) error) error {
	ctx, stop := context.WithTimeout(ctx, writeTimeout)
	defer stop()
	e, _ := r.entryOf(name)
	if err := e.changing.within(ctx); err != nil {
		return err
	}
	defer e.changing.Unlock()
	made := change{ID: rand.Text(), By: by, At: time.Now().UTC().Truncate(time.Microsecond), What: what}
	for range mostChanges {
		if err := r.fresh(ctx, e, 0); err != nil {
			return err
		}
		rec, tag := e.copy()
		if slices.ContainsFunc(rec.Changes, func(c change) bool { return c.ID == made.ID }) {
			return nil // by an attempt whose answer was lost
		}
		if rec.Format > recordFormat {
			return kind.As(kind.Unavailable, fmt.Errorf("tenant %s was changed by a newer memcore: change it with that one", name))
		}
		if err := prepare(&rec); err != nil {
			return err
		}
		rec.Format = recordFormat
		rec.Changes = append(rec.Changes[max(0, len(rec.Changes)-mostTrail+1):], made)
		data, err := json.Marshal(rec)
		if err != nil {
			return fmt.Errorf("record of tenant %s: %w", name, err)
		}
		begun := time.Now()
		next, err := r.objects.Replace(ctx, recordPath(name), data, tag)
		if err == nil {
			r.changed(e, rec, next, begun)
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
	return kind.As(kind.Conflict, fmt.Errorf("others keep changing tenant %s or its keys: try again", name))
}

// readsAtOnce bounds the reads of a listing.
const readsAtOnce = 32

// Tenants yields all tenants, by name, until an error.
func (r *Registry) Tenants(ctx context.Context) iter.Seq2[Tenant, error] {
	return func(yield func(Tenant, error) bool) {
		var names []string
		flush := func() bool {
			some, err := r.read(ctx, names)
			names = names[:0]
			if err != nil {
				yield(Tenant{}, err)
				return false
			}
			return !slices.ContainsFunc(some, func(t Tenant) bool { return !yield(t, nil) })
		}
		for object, err := range r.objects.List(ctx, registryFolder) {
			if err != nil {
				yield(Tenant{}, err)
				return
			}
			name := strings.TrimSuffix(strings.TrimPrefix(object.Name, registryFolder+"/"), ".json")
			if names = append(names, name); len(names) == readsAtOnce && !flush() {
				return
			}
		}
		flush()
	}
}

// read returns the tenants with some names.
func (r *Registry) read(ctx context.Context, names []string) ([]Tenant, error) {
	all := make([]Tenant, len(names))
	var reads errgroup.Group
	for i, name := range names {
		reads.Go(func() error {
			rec, _, err := r.fetch(ctx, name, "")
			if err == nil && rec != nil && rec.Tenant != nil {
				all[i] = *rec.Tenant
			}
			return err
		})
	}
	err := reads.Wait()
	return slices.DeleteFunc(all, func(t Tenant) bool { return t.Name == "" }), err
}

// fetch reads the record of a name; nil if it still has a tag.
func (r *Registry) fetch(ctx context.Context, name, known string) (*record, string, error) {
	data, tag, err := r.objects.Fetch(ctx, recordPath(name), known)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &record{}, "", nil
	case err != nil:
		return nil, "", err
	case known != "" && tag == known:
		return nil, tag, nil
	}
	var rec record
	if err := json.Unmarshal(data, &rec); err != nil || rec.Tenant != nil && rec.Tenant.Name != name {
		return nil, "", fmt.Errorf("object %s is no record of tenant %s: %w", recordPath(name), name, errors.Join(err, index.ErrCorrupt))
	}
	return &rec, tag, nil
}

// Exists reports whether there is a tenant with an ID now.
func (r *Registry) Exists(ctx context.Context, id string) (bool, error) {
	name := nameOf(id)
	if checkName("tenant", name) != nil {
		return false, nil
	}
	e, _ := r.entryOf(name)
	if err := r.fresh(ctx, e, 0); err != nil {
		return false, err
	}
	_, exists := e.tenant(id)
	return exists, nil
}

// errNoTenant is the error for a name without a tenant.
func errNoTenant(name string) error {
	return kind.Hint(kind.As(kind.NotFound, fmt.Errorf("there is no tenant %.80q", name)), "'memcore-service tenant list' lists them")
}

// freshOf returns the entry of a name, at most an age old.
func (r *Registry) freshOf(ctx context.Context, name string, age time.Duration) (*entry, error) {
	if checkName("tenant", name) != nil {
		return nil, errNoTenant(name)
	}
	e, _ := r.entryOf(name)
	return e, r.fresh(ctx, e, age)
}

// Tenant returns the tenant with a name, at most the registry's age old.
func (r *Registry) Tenant(ctx context.Context, name string) (Tenant, error) {
	e, err := r.freshOf(ctx, name, r.age)
	if err != nil {
		return Tenant{}, err
	}
	t, exists := e.tenant("")
	if !exists {
		err = errNoTenant(name)
	}
	return t, err
}

// CreateTenant adds a tenant. It first checks the storage.
func (r *Registry) CreateTenant(ctx context.Context, by, name string) (Tenant, error) {
	if err := cmp.Or(checkName("tenant", name), checkStorage(ctx, r.objects)); err != nil {
		return Tenant{}, err
	}
	t := Tenant{Name: name, Created: time.Now().UTC().Truncate(time.Second)}
	return t, r.change(ctx, by, name, "create", func(rec *record) error {
		if rec.Tenant != nil {
			return kind.As(kind.Conflict, fmt.Errorf("there is a tenant %s already", name))
		}
		for t.ID == "" || slices.Contains(rec.Former, t.ID) {
			t.ID = name + "-" + strings.ToLower(rand.Text()[:8])
		}
		rec.Tenant = &t
		return nil
	})
}

// checkedPath is of the object that checkStorage writes.
const checkedPath = "checks/condition"

// checkStorage refuses a storage without conditional writes: two nodes would undo each other's
// changes.
func checkStorage(ctx context.Context, objects store.Objects) error {
	if err := objects.Put(ctx, checkedPath, []byte("memcore")); err != nil {
		return err
	}
	for _, tag := range []string{"", "none"} {
		if _, err := objects.Replace(ctx, checkedPath, []byte("memcore"), tag); err == nil {
			return kind.Hint(errors.New("the storage ignores the conditions If-Match and If-None-Match of a write"), "a service needs a storage with conditional writes")
		} else if !errors.Is(err, store.ErrBehind) {
			return err
		}
	}
	return nil
}

// RemoveTenant removes a tenant and its keys, but not its documents (Delete).
func (r *Registry) RemoveTenant(ctx context.Context, by, name string) (former Tenant, err error) {
	if checkName("tenant", name) != nil {
		return former, errNoTenant(name)
	}
	err = r.change(ctx, by, name, "remove", func(rec *record) error {
		if rec.Tenant == nil {
			return errNoTenant(name)
		}
		former = *rec.Tenant
		// First, since whoever learns of a removal checks that it happened.
		if err := r.objects.Put(ctx, removalsFolder+"/"+former.ID, nil); err != nil {
			return err
		}
		rec.Tenant, rec.Keys, rec.Former = nil, nil, append(rec.Former, former.ID)
		return nil
	})
	return former, err
}

// Removed returns the IDs of a name's removed tenants, whose objects may be left.
func (r *Registry) Removed(ctx context.Context, name string) ([]string, error) {
	e, err := r.freshOf(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	rec, _ := e.copy()
	return rec.Former, nil
}

// removalsKept is how long removals are listed.
const removalsKept = 7 * 24 * time.Hour

// removals yields the IDs of tenants removed lately or being removed.
func (r *Registry) removals(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for object, err := range r.objects.List(ctx, removalsFolder) {
			if err == nil && time.Since(object.Changed) > removalsKept {
				err = r.objects.Remove(ctx, object.Name)
			}
			if !yield(strings.TrimPrefix(object.Name, removalsFolder+"/"), err) || err != nil {
				return
			}
		}
	}
}

// keyMark begins every API key, for scanners of secrets.
const keyMark = "mck"

// Bounds of what tenants put into the registry.
const (
	mostKeys    = 1000 // of a tenant
	longestName = 200  // of a key, in bytes
)

// CreateKey returns the new key with its secret, which is not stored.
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
	err = r.change(ctx, by, k.Tenant, "create key "+k.ID, func(rec *record) error {
		if rec.Tenant == nil {
			return errNoTenant(k.Tenant)
		}
		if len(rec.Keys) >= mostKeys {
			return kind.As(kind.Conflict, fmt.Errorf("tenant %s has %d keys already: revoke some", k.Tenant, len(rec.Keys)))
		}
		rec.Keys = append(rec.Keys, storedKey{k, hashOf(secret)})
		return nil
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
	e, err := r.freshOf(ctx, tenant, 0)
	if err != nil {
		return nil, err
	}
	rec, _ := e.copy()
	if rec.Tenant == nil {
		return nil, errNoTenant(tenant)
	}
	all := []service.Key{}
	for _, k := range rec.Keys {
		all = append(all, k.Key)
	}
	return all, nil
}

// RevokeKey removes a key of a tenant.
func (r *Registry) RevokeKey(ctx context.Context, by, tenant, id string) error {
	if checkName("tenant", tenant) != nil {
		return errNoTenant(tenant)
	}
	return r.change(ctx, by, tenant, "revoke key "+id, func(rec *record) error {
		before := len(rec.Keys)
		rec.Keys = slices.DeleteFunc(rec.Keys, func(k storedKey) bool { return k.ID == id })
		if len(rec.Keys) == before {
			return kind.As(kind.NotFound, fmt.Errorf("tenant %s has no key %.80q", tenant, id))
		}
		return nil
	})
}

// Authenticate returns the owner of a tenant's key, by what the storage has or had within the
// registry's age.
func (r *Registry) Authenticate(ctx context.Context, tenant, secret string) (service.Principal, error) {
	parts := strings.Split(secret, "_")
	if len(parts) != 3 || parts[0] != keyMark || checkName("tenant", tenant) != nil {
		return service.Principal{}, service.ErrKey
	}
	e, isKnown := r.entryOf(tenant)
	// The key may be newer than what is known. Guessing keys does not lead to more questions.
	for _, age := range []time.Duration{r.age, min(r.age, newKeyAge)} {
		ask := r.freshOfStranger
		if isKnown {
			ask = r.fresh
		}
		if err := ask(ctx, e, age); err != nil {
			return service.Principal{}, err
		}
		if p, ok := e.principal(parts[1], parts[2]); ok {
			return p, nil
		}
		isKnown = false
	}
	return service.Principal{}, service.ErrKey
}

// newKeyAge is how long a new key may be refused.
const newKeyAge = 200 * time.Millisecond

// principal returns the owner of a key, as far as is known.
func (e *entry) principal(id, secret string) (p service.Principal, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var k storedKey
	if i := slices.IndexFunc(e.record.Keys, func(k storedKey) bool { return k.ID == id }); i >= 0 {
		k = e.record.Keys[i]
	}
	t := e.record.Tenant
	if !origin.IsToken(hashOf(secret), k.Hash) || t == nil || !k.Expires.IsZero() && !time.Now().Before(k.Expires) {
		return p, false
	}
	return service.Principal{Tenant: t.Name, TenantID: t.ID, User: k.User, Teams: k.Teams, Key: k.ID, Right: k.Right, Expires: k.Expires}, true
}
