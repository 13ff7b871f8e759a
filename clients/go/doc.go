// Package toolsearch is the client of toolsearch, the tool search service for AI agents: it finds the right tools among
// thousands.
//
//	client, err := toolsearch.New("localhost:50051")
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//
//	found, err := client.SearchTools(ctx, &toolsearchv1.SearchToolsRequest{Queries: []string{"open a bug report"}})
//	if err != nil {
//		return err
//	}
//	for _, match := range found.GetMatches() {
//		fmt.Println(match.GetEntry().GetName(), match.GetRelevance(), match.GetReason())
//	}
//
// A [Client] has every method of the two services of the contract, with its messages, which are in package
// [github.com/toolsearch/toolsearch/clients/go/toolsearchv1]. Around each call the client does what every caller needs:
//
//   - A request that names no catalog means the one of [WithCatalog].
//   - Reads see the client's own writes, on whichever replica they land: the client remembers the revision that it was told and
//     asks for it. [AnyRevision] turns that off for a call.
//   - Reads are retried, within their deadline, while the service is UNAVAILABLE. Writes are not: only the caller knows
//     whether a write whose answer was lost may be sent again. (SyncServer may: it says what is, not what to do.)
//   - A context without a deadline gets one, see [WithTimeout]. It covers retries.
//   - Calls are spread over all replicas that say that they are healthy. To have that, give New a name that resolves to
//     all of them, such as "dns:///toolsearch.example:50051".
//
// [Client.Tools], [Client.Namespaces] and [Client.Catalogs] go through all pages. [Client.Watch] tells what changes, across
// lost connections. [Client.Resource] reads a file that comes with a skill. [EntriesFromMCP] and [ToolForModel] read and write the JSON of tools.
//
// # Errors
//
// Whatever a call returns as an error is an [*Error] that knows the gRPC code, the reason of the contract, and, where a
// field is to blame, which, what was given and what is allowed:
//
//	_, err := client.SearchTools(ctx, &toolsearchv1.SearchToolsRequest{Queries: []string{"x"}, Limit: -1})
//	var refused *toolsearch.Error
//	if errors.As(err, &refused) {
//		fmt.Println(refused.Code, refused.Reason, refused.Field, refused.Given) // InvalidArgument FIELD_INVALID limit -1
//	}
//
// What to do about it depends on the kind, which [errors.Is] tells:
//
//	ErrInvalid      the request is wrong; Field says where. Sending it again will not help
//	ErrNotFound     there is no such catalog; catalogs come to be with their first write
//	ErrConflict     another writer was faster, or expected_revision no longer holds: read again, decide again
//	ErrLimit        the catalog or the caller has had all it may have
//	ErrNotPossible  this server lacks what the request needs, such as embeddings
//	ErrDenied       the credentials are missing, wrong, or not enough
//	ErrUnavailable  the service cannot be reached or cannot answer now: trying again later may work, see RetryAfter
//
// A call that ran out of time is [context.DeadlineExceeded], one that was given up is [context.Canceled]; in both cases a
// write may have happened. The functions of package [google.golang.org/grpc/status] work on these errors too.
package toolsearch
