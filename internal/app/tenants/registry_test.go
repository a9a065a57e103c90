package tenants

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/service"
	"github.com/memcore/memcore/internal/app/kind"
)

func mustCreate(t *testing.T, r *Registry, tenant, user string, right service.Right) service.Key {
	t.Helper()
	k, err := r.CreateKey(t.Context(), "test", service.Key{Tenant: tenant, User: user, Right: right})
	require.NoError(t, err)
	return k
}

func TestRegistry(t *testing.T) {
	log := &memoryLog{}
	const age = 50 * time.Millisecond
	a, b := NewRegistry(log, age), NewRegistry(log, age)
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
		p, err := r.Authenticate(t.Context(), k.Secret)
		require.NoError(t, err)
		require.Equal(t, service.Principal{Tenant: "acme", TenantID: acme.ID, User: "ann", Key: k.ID, Right: service.Write}, p)
		all, err := r.Keys(t.Context(), "acme")
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Empty(t, all[0].Secret)
	}
	for _, rev := range log.revisions {
		require.NotContains(t, rev.Text, strings.Split(k.Secret, "_")[2], "no secret is stored")
	}

	other := mustCreate(t, a, "globex", "ann", service.Admin)
	secret := strings.Split(k.Secret, "_")[2]
	for _, wrong := range []string{"", "mck", "mck__", "mck_" + k.ID, "mck_" + k.ID + "_", k.ID + "_" + secret, "mck_" + k.ID + "_" + secret[1:], "mck_" + k.ID + "_" + strings.ToUpper(secret),
		"mck_" + k.ID + "_" + secret + "_", "mck_" + other.ID + "_" + secret, "MCK_" + k.ID + "_" + secret, "mck_nobody_" + secret, "mck__" + secret, "mck_" + k.ID + "_" + hashOf(secret), " " + k.Secret, k.Secret + "\n"} {
		_, err := a.Authenticate(t.Context(), wrong)
		require.ErrorIs(t, err, service.ErrKey, "%q", wrong)
	}

	require.Equal(t, kind.NotFound, kind.Of(a.RevokeKey(t.Context(), "test", "globex", k.ID)), "a tenant revokes no key of another")
	require.NoError(t, a.RevokeKey(t.Context(), "test", "acme", k.ID))
	_, err = a.Authenticate(t.Context(), k.Secret)
	require.ErrorIs(t, err, service.ErrKey)
	time.Sleep(age)
	_, err = b.Authenticate(t.Context(), k.Secret)
	require.ErrorIs(t, err, service.ErrKey)

	k = mustCreate(t, a, "acme", "ann", service.Read)
	former, err := b.RemoveTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	require.Equal(t, acme, former)
	again, err := b.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	require.NotEqual(t, acme.ID, again.ID)
	time.Sleep(age)
	for _, r := range []*Registry{a, b, NewRegistry(log, age)} {
		_, err = r.Authenticate(t.Context(), k.Secret)
		require.ErrorIs(t, err, service.ErrKey, "a key of the former tenant of that name")
		_, err = r.Authenticate(t.Context(), other.Secret)
		require.NoError(t, err)
		all, err := r.Tenants(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 2)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	r := NewRegistry(&memoryLog{}, time.Second)
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
	r := NewRegistry(&memoryLog{}, time.Hour)
	_, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	k, err := r.CreateKey(t.Context(), "test", service.Key{Tenant: "acme", User: "ann", Right: service.Read, Expires: time.Now().Add(100 * time.Millisecond)})
	require.NoError(t, err)
	_, err = r.Authenticate(t.Context(), k.Secret)
	require.NoError(t, err)
	time.Sleep(110 * time.Millisecond)
	_, err = r.Authenticate(t.Context(), k.Secret)
	require.ErrorIs(t, err, service.ErrKey)
}

// Nobody's request harms those of others: not one that is cancelled, and not a change that waits.
func TestRegistryIsShared(t *testing.T) {
	log := &memoryLog{}
	const age = 20 * time.Millisecond
	r := NewRegistry(log, age)
	_, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	k := mustCreate(t, r, "acme", "ann", service.Admin)

	for range 50 {
		time.Sleep(age / 4)
		gone, stop := context.WithCancel(t.Context())
		stop()
		_, _ = r.Authenticate(gone, "mck_a_b")
		_, err := r.Authenticate(t.Context(), k.Secret)
		require.NoError(t, err, "after a client that is gone")
	}

	hold := make(chan struct{})
	log.setFault(func(op string, after bool) error {
		if op == "append" && !after {
			<-hold
		}
		return nil
	})
	var changes sync.WaitGroup
	changes.Go(func() { require.NoError(t, r.RevokeKey(t.Context(), "test", "acme", k.ID)) })
	changes.Go(func() {
		short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()
		_, err := r.CreateTenant(short, "test", "globex")
		require.ErrorIs(t, err, context.DeadlineExceeded, "another change waits, but not for ever")
	})
	for range 10 {
		time.Sleep(age)
		begun := time.Now()
		_, err := r.Authenticate(t.Context(), k.Secret)
		require.NoError(t, err)
		require.Less(t, time.Since(begun), time.Second, "requests do not wait for a change")
	}
	close(hold)
	changes.Wait()
	_, err = r.Authenticate(t.Context(), k.Secret)
	require.ErrorIs(t, err, service.ErrKey)
}

// Without the storage there is no answer, and not each request asks it. It is asked again soon.
func TestRegistryWithoutStorage(t *testing.T) {
	log := &memoryLog{}
	r := NewRegistry(log, time.Millisecond)
	_, err := r.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	k := mustCreate(t, r, "acme", "ann", service.Admin)
	var mu sync.Mutex
	asked := 0
	log.setFault(func(op string, after bool) error {
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
			_, err := r.Authenticate(t.Context(), k.Secret)
			require.ErrorIs(t, err, errStorage)
			require.Equal(t, kind.Unavailable, kind.Of(err))
		})
	}
	requests.Wait()
	require.LessOrEqual(t, asked, 2)
	_, err = r.CreateKey(t.Context(), "test", service.Key{Tenant: "acme", User: "ann", Right: service.Read})
	require.ErrorIs(t, err, errStorage)
	log.setFault(nil)
	require.Eventually(t, func() bool { _, err := r.Authenticate(t.Context(), k.Secret); return err == nil }, 5*time.Second, 20*time.Millisecond)
}

// Changes in several processes at once: each is made once, on what the others did.
func TestRegistriesChangeAtTheSameTime(t *testing.T) {
	log := &memoryLog{}
	var made sync.Map
	var all sync.WaitGroup
	for range 4 {
		r := NewRegistry(log, time.Millisecond)
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
	tenants, err := NewRegistry(log, 0).Tenants(t.Context())
	require.NoError(t, err)
	require.Len(t, tenants, 4)
}
