//go:build lancedb

package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/memcore/memcore/store"
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

// Put implements store.Objects.
func (b *bucket) Put(ctx context.Context, name string, data []byte) error {
	_, err := b.client.PutObject(ctx, b.name, path.Join(b.prefix, name), bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{})
	if err != nil {
		return fmt.Errorf("write object %s: %w", name, err)
	}
	return nil
}

// Get implements store.Objects.
func (b *bucket) Get(ctx context.Context, name string) ([]byte, error) {
	object, err := b.client.GetObject(ctx, b.name, path.Join(b.prefix, name), minio.GetObjectOptions{})
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", name, err)
	}
	defer object.Close()
	data, err := io.ReadAll(object)
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", name, err)
	}
	return data, nil
}

// RemoveAll implements store.Objects. On a bucket with versions it removes those too.
func (b *bucket) RemoveAll(ctx context.Context, folder string) (left int, err error) {
	prefix := path.Join(b.prefix, folder) + "/"
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
