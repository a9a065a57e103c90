//go:build lancedb

package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/memcore/memcore/service/store"
)

func openBucket(at Place) (store.Objects, error) {
	uri, err := url.Parse(at.URI)
	if err != nil || uri.Scheme != "s3" || uri.Host == "" {
		return nil, fmt.Errorf("storage %q: want a folder or s3://bucket/prefix", at.URI)
	}
	endpoint, lookup := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}, minio.BucketLookupAuto
	if at.Endpoint != "" {
		if endpoint, err = url.Parse(at.Endpoint); err != nil || endpoint.Host == "" {
			return nil, fmt.Errorf("endpoint %q: want an address such as https://storage.example:9000", at.Endpoint)
		}
		lookup = minio.BucketLookupPath
	}
	region := at.Region
	if region == "" {
		region = "us-east-1"
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.IAM{}}),
		Secure: endpoint.Scheme != "http", Region: region, BucketLookup: lookup,
	})
	if err != nil {
		return nil, fmt.Errorf("storage %s: %w", at.URI, err)
	}
	return &bucket{client, uri.Host, strings.Trim(uri.Path, "/")}, nil
}

// A bucket has objects below a prefix.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

func (b *bucket) key(name string) string { return path.Join(b.prefix, name) }

// Put implements store.Objects.
func (b *bucket) Put(ctx context.Context, name string, data []byte) error {
	_, err := b.put(ctx, name, data, minio.PutObjectOptions{})
	return err
}

func (b *bucket) put(ctx context.Context, name string, data []byte, o minio.PutObjectOptions) (tag string, err error) {
	done, err := b.client.PutObject(ctx, b.name, b.key(name), bytes.NewReader(data), int64(len(data)), o)
	if err != nil {
		return "", fmt.Errorf("write object %s: %w", name, err)
	}
	return done.ETag, nil
}

// answerIn returns what the storage has answered, if that is the error.
func answerIn(err error) (answer minio.ErrorResponse) {
	_ = errors.As(err, &answer)
	return answer
}

// Get implements store.Objects.
func (b *bucket) Get(ctx context.Context, name string) ([]byte, error) {
	data, _, err := b.Fetch(ctx, name, "")
	return data, err
}

// Fetch implements store.Objects.
func (b *bucket) Fetch(ctx context.Context, name, known string) (data []byte, tag string, err error) {
	o := minio.GetObjectOptions{}
	if known != "" {
		if err := o.SetMatchETagExcept(known); err != nil {
			return nil, "", err
		}
	}
	body, info, _, err := minio.Core{Client: b.client}.GetObject(ctx, b.name, b.key(name), o)
	if err == nil {
		data = make([]byte, max(info.Size, 0))
		_, err = io.ReadFull(body, data)
		err = errors.Join(err, body.Close())
	}
	switch answer := answerIn(err); {
	case err == nil:
		return data, info.ETag, nil
	case answer.StatusCode == http.StatusNotModified:
		return nil, known, nil
	case answer.Code == minio.NoSuchKey:
		err = fs.ErrNotExist
	}
	return nil, "", fmt.Errorf("read object %s: %w", name, err)
}

// Replace implements store.Objects.
func (b *bucket) Replace(ctx context.Context, name string, data []byte, tag string) (next string, err error) {
	o := minio.PutObjectOptions{}
	if tag == "" {
		o.SetMatchETagExcept("*")
	} else {
		o.SetMatchETag(tag)
	}
	next, err = b.put(ctx, name, data, o)
	switch answer := answerIn(err); {
	case err == nil:
	case answer.StatusCode == http.StatusPreconditionFailed, answer.StatusCode == http.StatusConflict, tag != "" && answer.Code == minio.NoSuchKey:
		err = fmt.Errorf("replace object %s: %w", name, store.ErrBehind)
	}
	return next, err
}

// List implements store.Objects.
func (b *bucket) List(ctx context.Context, folder string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		ctx, stop := context.WithCancel(ctx) // ends the listing
		defer stop()
		for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.key(folder) + "/", Recursive: true}) {
			if object.Err != nil {
				yield(store.Object{}, fmt.Errorf("list objects of %s: %w", folder, object.Err))
				return
			}
			name := strings.TrimPrefix(strings.TrimPrefix(object.Key, b.prefix), "/")
			if !yield(store.Object{Name: name, Changed: object.LastModified}, nil) {
				return
			}
		}
	}
}

// Remove implements store.Objects.
func (b *bucket) Remove(ctx context.Context, name string) error {
	if err := b.client.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{}); err != nil {
		return fmt.Errorf("remove object %s: %w", name, err)
	}
	return nil
}

// RemoveAll implements store.Objects. On a bucket with versions it removes those too.
func (b *bucket) RemoveAll(ctx context.Context, folder string) (left int, err error) {
	prefix := b.key(folder) + "/"
	for _, versions := range []bool{true, false} { // some storages have no versions to list
		for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, WithVersions: versions}) {
			if object.Err != nil {
				if versions {
					break
				}
				return left, fmt.Errorf("list objects of %s: %w", folder, object.Err)
			}
			err = errors.Join(err, b.client.RemoveObject(ctx, b.name, object.Key, minio.RemoveObjectOptions{VersionID: object.VersionID}))
		}
	}
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if object.Err != nil {
			return left, errors.Join(err, object.Err)
		}
		left++
	}
	return left, err
}
