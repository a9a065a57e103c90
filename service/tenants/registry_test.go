package tenants

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/store"
)

func mustCreate(t *testing.T, r *Registry, tenant, user string, right service.Right) service.Key {
	t.Helper()
	k, err := r.CreateKey(t.Context(), "test", service.Key{Tenant: tenant, User: user, Right: right})
	require.NoError(t, err)
	return k
}

func namesIn(t *testing.T, r *Registry) (names []string) {
	t.Helper()
	for tenant, err := range r.Tenants(t.Context()) {
		require.NoError(t, err)
		names = append(names, tenant.Name)
	}
	return names
}

func TestRegistry(t *testing.T) {
	objects := newMemoryObjects()
	const age = 50 * time.Millisecond
	a, b := NewRegistry(objects, age), NewRegistry(objects, age)
	acme, err := a.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	_, err = b.CreateTenant(t.Context(), "test", "acme")
	require.Equal(t, kind.Conflict, kind.Of(err))
	_, err = b.CreateTenant(t.Context(), "test", "globex")
	require.NoError(t, err)

	k := mustCreate(t, b, "acme", "ann", service.Write)
	require.Regexp(t, `^mck_[a-z2-7]{12}_[a-z2-7]{26}$`, k.Secret)
	time.Sleep(age)
	for _, r := range []*Registry{a, b} {
		p, err := r.Authenticate(t.Context(), "acme", k.Secret)
		require.NoError(t, err)
		require.Equal(t, service.Principal{Tenant: "acme", TenantID: acme.ID, User: "ann", Key: k.ID, Right: service.Write}, p)
		all, err := r.Keys(t.Context(), "acme")
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Empty(t, all[0].Secret)
	}
	require.Empty(t, objects.find(strings.Split(k.Secret, "_")[2]), "no secret is stored")

	other := mustCreate(t, a, "globex", "ann", service.Admin)
	secret := strings.Split(k.Secret, "_")[2]
	for _, wrong := range []string{"", "mck", "mck__", "mck_" + k.ID, "mck_" + k.ID + "_", k.ID + "_" + secret, "mck_" + k.ID + "_" + secret[1:], "mck_" + k.ID + "_" + strings.ToUpper(secret),
		"mck_" + k.ID + "_" + secret + "_", "mck_" + other.ID + "_" + secret, "MCK_" + k.ID + "_" + secret, "mck_nobody_" + secret, "mck__" + secret, "mck_" + k.ID + "_" + hashOf(secret), " " + k.Secret, k.Secret + "\n"} {
		_, err := a.Authenticate(t.Context(), "acme", wrong)
		require.ErrorIs(t, err, service.ErrKey, "%q", wrong)
	}

	require.Equal(t, kind.NotFound, kind.Of(a.RevokeKey(t.Context(), "test", "globex", k.ID)), "a tenant revokes no key of another")
	require.NoError(t, a.RevokeKey(t.Context(), "test", "acme", k.ID))
	_, err = a.Authenticate(t.Context(), "acme", k.Secret)
	require.ErrorIs(t, err, service.ErrKey)
	time.Sleep(age)
	_, err = b.Authenticate(t.Context(), "acme", k.Secret)
	require.ErrorIs(t, err, service.ErrKey)

	k = mustCreate(t, a, "acme", "ann", service.Read)
	former, err := b.RemoveTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	require.Equal(t, acme, former)
	again, err := b.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	require.NotEqual(t, acme.ID, again.ID)
	time.Sleep(age)
	for _, r := range []*Registry{a, b, NewRegistry(objects, age)} {
		_, err = r.Authenticate(t.Context(), "acme", k.Secret)
		require.ErrorIs(t, err, service.ErrKey, "a key of the former tenant of that name")
		_, err = r.Authenticate(t.Context(), "globex", other.Secret)
		require.NoError(t, err)
		require.Equal(t, []string{"acme", "globex"}, namesIn(t, r))
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	r := NewRegistry(newMemoryObjects(), time.Second)
	_, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	for _, k := range []service.Key{{}, {Tenant: "acme", User: "ann"}, {Tenant: "acme", User: "ann", Right: "root"}, {Tenant: "acme", User: "ann", Right: "READ"}, {Tenant: "nobody", User: "ann", Right: service.Read},
		{Tenant: "acme", User: "../bob", Right: service.Read}, {Tenant: "acme", User: "", Right: service.Read}, {Tenant: "acme", User: "ann", Right: service.Read, Expires: time.Now().Add(-time.Second)},
		{Tenant: "acme", User: "ann", Right: service.Read, Name: strings.Repeat("x", longestName+1)}, {Tenant: "acme", User: "ann", Right: service.Read, Name: "\x1b[2J"}, {Tenant: "acme", User: "ann", Right: service.Read, Name: "\xff"}} {
		made, err := r.CreateKey(t.Context(), "test", k)
		require.Error(t, err, "%+v", k)
		require.Empty(t, made.Secret)
	}
	for _, name := range []string{"", "..", "acme/../globex", "Acme", "a\n", strings.Repeat("a", 64)} {
		_, err := r.CreateTenant(t.Context(), "test", name)
		require.Equal(t, kind.BadInput, kind.Of(err), "%q", name)
	}
	_, err = r.RemoveTenant(t.Context(), "test", "nobody")
	require.Equal(t, kind.NotFound, kind.Of(err))

	for range mostKeys {
		mustCreate(t, r, "acme", "ann", service.Read)
	}
	_, err = r.CreateKey(t.Context(), "test", service.Key{Tenant: "acme", User: "ann", Right: service.Read})
	require.Equal(t, kind.Conflict, kind.Of(err))
}

func TestKeysExpire(t *testing.T) {
	r := NewRegistry(newMemoryObjects(), time.Hour)
	_, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	k, err := r.CreateKey(t.Context(), "test", service.Key{Tenant: "acme", User: "ann", Right: service.Read, Expires: time.Now().Add(100 * time.Millisecond)})
	require.NoError(t, err)
	_, err = r.Authenticate(t.Context(), "acme", k.Secret)
	require.NoError(t, err)
	time.Sleep(110 * time.Millisecond)
	_, err = r.Authenticate(t.Context(), "acme", k.Secret)
	require.ErrorIs(t, err, service.ErrKey)
}

// Nobody's request harms those of others: not one that is cancelled, and not a change that waits.
func TestRegistryIsShared(t *testing.T) {
	objects := newMemoryObjects()
	const age = 20 * time.Millisecond
	r := NewRegistry(objects, age)
	_, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	k := mustCreate(t, r, "acme", "ann", service.Admin)

	for range 50 {
		time.Sleep(age / 4)
		gone, stop := context.WithCancel(t.Context())
		stop()
		_, _ = r.Authenticate(gone, "acme", "mck_a_b")
		_, err := r.Authenticate(t.Context(), "acme", k.Secret)
		require.NoError(t, err, "after a client that is gone")
	}

	hold := make(chan struct{})
	objects.setFault(func(op string, after bool) error {
		if op == "replace" && !after {
			<-hold
		}
		return nil
	})
	var changes sync.WaitGroup
	changes.Go(func() { require.NoError(t, r.RevokeKey(t.Context(), "test", "acme", k.ID)) })
	changes.Go(func() {
		short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()
		_, err := r.CreateKey(short, "test", service.Key{Tenant: "acme", User: "bob", Right: service.Read})
		require.ErrorIs(t, err, context.DeadlineExceeded, "another change waits, but not for ever")
	})
	for range 10 {
		time.Sleep(age)
		begun := time.Now()
		_, err := r.Authenticate(t.Context(), "acme", k.Secret)
		require.NoError(t, err)
		require.Less(t, time.Since(begun), time.Second, "requests do not wait for a change")
	}
	close(hold)
	changes.Wait()
	_, err = r.Authenticate(t.Context(), "acme", k.Secret)
	require.ErrorIs(t, err, service.ErrKey)
}

// Without the storage there is no answer, and not each request asks it. It is asked again soon.
func TestRegistryWithoutStorage(t *testing.T) {
	objects := newMemoryObjects()
	r := NewRegistry(objects, time.Millisecond)
	_, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	k := mustCreate(t, r, "acme", "ann", service.Admin)
	var mu sync.Mutex
	asked := 0
	objects.setFault(func(op string, after bool) error {
		mu.Lock()
		defer mu.Unlock()
		if asked++; after {
			return nil
		}
		return errStorage
	})
	time.Sleep(2 * time.Millisecond)
	var requests sync.WaitGroup
	for range 20 {
		requests.Go(func() {
			_, err := r.Authenticate(t.Context(), "acme", k.Secret)
			require.ErrorIs(t, err, errStorage)
			require.Equal(t, kind.Unavailable, kind.Of(err))
		})
	}
	requests.Wait()
	require.LessOrEqual(t, asked, 2)
	_, err = r.CreateKey(t.Context(), "test", service.Key{Tenant: "acme", User: "ann", Right: service.Read})
	require.ErrorIs(t, err, errStorage)
	objects.setFault(nil)
	require.Eventually(t, func() bool { _, err := r.Authenticate(t.Context(), "acme", k.Secret); return err == nil }, 5*time.Second, 20*time.Millisecond)
}

// Changes in several processes at once: each is made once, on what the others did.
func TestRegistriesChangeAtTheSameTime(t *testing.T) {
	objects := newMemoryObjects()
	var made sync.Map
	var all sync.WaitGroup
	for range 4 {
		r := NewRegistry(objects, time.Millisecond)
		all.Go(func() {
			for _, name := range []string{"a", "b", "c", "d"} {
				for {
					_, err := r.CreateTenant(t.Context(), "test", name)
					if err == nil {
						if _, twice := made.LoadOrStore(name, true); twice {
							t.Errorf("%s was made twice", name)
						}
					} else if !strings.Contains(err.Error(), "already") { // others keep changing
						continue
					}
					break
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, []string{"a", "b", "c", "d"}, namesIn(t, NewRegistry(objects, 0)))
}

// Strangers who guess names make a node ask the storage a bounded number of times, remember a
// bounded number of names, and make no known tenant wait.
func TestGuessedNames(t *testing.T) {
	objects := newMemoryObjects()
	r := NewRegistry(objects, time.Hour)
	_, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	k := mustCreate(t, r, "acme", "ann", service.Read)
	r.guesses.SetBurst(50)
	objects.setFault(func(op string, after bool) error {
		if op == "fetch" && !after {
			time.Sleep(20 * time.Millisecond)
		}
		return nil
	})
	guess := "mck_" + k.ID + "_" + strings.Repeat("a", 26)
	var strangers sync.WaitGroup
	var busy, wrong atomic.Int64
	begun := time.Now()
	for s := range 300 {
		strangers.Go(func() {
			for i := range 5 {
				switch _, err := r.Authenticate(t.Context(), fmt.Sprintf("n%d-%d", s, i), guess); {
				case errors.Is(err, service.ErrKey):
					wrong.Add(1)
				case kind.Of(err) == kind.Unavailable:
					busy.Add(1)
				default:
					t.Errorf("a guess gets %v", err)
				}
			}
		})
	}
	for range 1000 {
		asked := time.Now()
		_, err := r.Authenticate(t.Context(), "acme", k.Secret)
		require.NoError(t, err)
		require.Less(t, time.Since(asked), 200*time.Millisecond, "a known tenant does not wait for strangers")
		time.Sleep(time.Millisecond)
	}
	strangers.Wait()
	require.Positive(t, wrong.Load())
	require.Positive(t, busy.Load())
	asked := 0
	for name, n := range objects.fetched {
		if strings.HasPrefix(name, recordPath("n")[:len(recordPath("n"))-len(".json")]) {
			asked += n
		}
	}
	require.Positive(t, asked)
	require.LessOrEqual(t, asked, 50+int(time.Since(begun).Seconds()+1)*guessesPerSecond)

	objects.setFault(nil)
	r.guesses.SetLimit(rate.Inf)
	before := objects.fetched[recordPath("n-same")]
	for range 1000 {
		_, err := r.Authenticate(t.Context(), "n-same", guess)
		require.ErrorIs(t, err, service.ErrKey)
	}
	require.Less(t, objects.fetched[recordPath("n-same")]-before, 50, "a name that does not exist is remembered for a while")
	for i := range mostStrangers + 100 {
		_, err := r.Authenticate(t.Context(), fmt.Sprintf("m%d", i), guess)
		require.ErrorIs(t, err, service.ErrKey)
	}
	require.Equal(t, mostStrangers, r.strangers.Len())
	for _, odd := range []string{"", "..", "acme/../acme", "ACME", "-", strings.Repeat("a", 64), "acme.json", "acme\x00"} {
		_, err := r.Authenticate(t.Context(), odd, k.Secret)
		require.ErrorIs(t, err, service.ErrKey, "%q", odd)
	}
	require.Zero(t, objects.fetched[recordPath("..")])
	_, err = r.Authenticate(t.Context(), "acme", k.Secret)
	require.NoError(t, err)
}

// What is known is bounded; who made room is asked for again.
func TestKnownTenantsAreBounded(t *testing.T) {
	r := NewRegistry(newMemoryObjects(), time.Hour)
	for i := range 5 {
		name := fmt.Sprintf("t%d", i)
		_, err := r.CreateTenant(t.Context(), "test", name)
		require.NoError(t, err)
		k := mustCreate(t, r, name, "ann", service.Read)
		e, isKnown := r.entryOf(name)
		require.True(t, isKnown)
		r.keep(e, mostWeight/2)
		_, err = r.Authenticate(t.Context(), name, k.Secret)
		require.NoError(t, err)
	}
	require.Equal(t, 2, r.known.Len())
	require.LessOrEqual(t, r.weight, mostWeight)
	_, err := r.Tenant(t.Context(), "t0")
	require.NoError(t, err)
}

// A change whose answer is lost is made once.
func TestLostAnswers(t *testing.T) {
	objects := newMemoryObjects()
	r := NewRegistry(objects, time.Millisecond)
	tenant, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	lost := 0
	objects.setFault(func(op string, after bool) error {
		if lost++; op == "replace" && after && lost%2 == 0 { // as a client does that has sent it again
			return fmt.Errorf("sent again: %w", store.ErrBehind)
		}
		return nil
	})
	for range 5 {
		k := mustCreate(t, r, "acme", "ann", service.Read)
		_, err = r.Authenticate(t.Context(), "acme", k.Secret)
		require.NoError(t, err)
	}
	keys, err := r.Keys(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, keys, 5)
	removed, err := r.RemoveTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	require.Equal(t, tenant, removed)
}

// A storage on which two nodes could replace each other's changes is refused.
func TestStorageWithoutConditions(t *testing.T) {
	_, err := NewRegistry(careless{newMemoryObjects()}, time.Second).CreateTenant(t.Context(), "test", "acme")
	require.ErrorContains(t, err, "If-Match")
}

// A careless storage ignores conditions.
type careless struct{ *memoryObjects }

func (c careless) Replace(ctx context.Context, name string, data []byte, _ string) (string, error) {
	return "x", c.Put(ctx, name, data)
}

// A record of a newer release is read, but not changed: fields would be lost.
func TestNewerRecord(t *testing.T) {
	objects := newMemoryObjects()
	r := NewRegistry(objects, 0)
	_, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	k := mustCreate(t, r, "acme", "ann", service.Read)
	objects.all[recordPath("acme")] = strings.Replace(objects.all[recordPath("acme")], `"format":1`, `"more":true,"format":2`, 1)
	_, err = r.Authenticate(t.Context(), "acme", k.Secret)
	require.NoError(t, err)
	require.ErrorContains(t, r.RevokeKey(t.Context(), "test", "acme", k.ID), "newer")
}

// Removals are told for a week. What is told and did not happen is seen to be so.
func TestRemovals(t *testing.T) {
	objects := newMemoryObjects()
	r := NewRegistry(objects, 0)
	told := func() (ids []string) {
		for id, err := range r.removals(t.Context()) {
			require.NoError(t, err)
			ids = append(ids, id)
		}
		return ids
	}
	acme, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	objects.setFault(func(op string, after bool) error {
		if op == "replace" && !after {
			return errStorage
		}
		return nil
	})
	_, err = r.RemoveTenant(t.Context(), "test", "acme")
	require.ErrorIs(t, err, errStorage)
	objects.setFault(nil)
	require.Equal(t, []string{acme.ID}, told())
	exists, err := r.Exists(t.Context(), acme.ID)
	require.NoError(t, err)
	require.True(t, exists)
	_, err = r.RemoveTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	exists, err = r.Exists(t.Context(), acme.ID)
	require.NoError(t, err)
	require.False(t, exists)
	require.Empty(t, namesIn(t, r))
	_, err = r.RemoveTenant(t.Context(), "test", "acme")
	require.Equal(t, kind.NotFound, kind.Of(err))
	ids, err := r.Removed(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, []string{acme.ID}, ids)
	ids, err = r.Removed(t.Context(), "globex")
	require.NoError(t, err)
	require.Empty(t, ids)
	objects.changed[removalsFolder+"/"+acme.ID] = time.Now().Add(-removalsKept - time.Minute)
	require.Equal(t, []string{acme.ID}, told())
	require.Empty(t, told())
}
