import CCurl
import EventLoop
import HTTPTypes
import Synchronization

// Undoes the content coding of a response (RFC 9110 §8.4). libcurl could, but it takes a truncated body for a whole one
// and has no limit on the output (SEC-25).
extension Transfer {
    /// Whether the request offers codings for the caller, and so removes them again.
    ///
    /// A caller who names codings, or asks for a range, gets the bytes as they come.
    var offersCodings: Bool {
        shared.value.automaticallyDecodesContent && !request.headerFields.contains(.acceptEncoding)
            && !request.headerFields.contains(.range)
    }

    /// Makes ready for the response's body.
    func prepareDecoding(of head: HeadCollector.Head) throws(LoadError) {
        guard head.isCoded, offersCodings, request.method != .head, head.status.code != 304 else { return }
        decoder = try ContentDecoder(
            coding: Response.contentCoding(head.fields), limit: shared.value.decodingLimits)
    }

    /// Takes coded bytes; false when they cannot be decoded or become too many.
    func receivedCoded(_ bytes: UnsafeRawBufferPointer) -> Bool {
        decoder?.append(bytes)
        return decode()
    }

    /// Decodes as much as may be held; the remaining bytes wait until the reader has taken some.
    ///
    /// False when it cannot be decoded, or becomes more than it may.
    func decode() -> Bool {
        guard decoder != nil, failure == nil else { return failure == nil }
        let (count, limit) = (body.count, capacity)
        do throws(LoadError) {
            try decoder?.read(into: &body, upTo: limit)
        } catch {
            failure = error
        }
        let decoded = Int64(body.count - count)
        bodyBytes += decoded
        state.countOfBytesReceived.add(decoded, ordering: .relaxed)
        if let maximum = shared.value.maximumResponseBytes, bodyBytes > maximum {
            _ = fail(.dataLengthExceedsMaximum, "The body is larger than it may be.")
        }
        if failure == nil, body.count < capacity, decoder?.isDrained == false { decodeLater() }
        return failure == nil
    }

    /// Goes on after the other work of the loop: a few bytes may stand for many, or for much work and nothing at all.
    private func decodeLater() {
        guard !isToDecodeLater else { return }
        isToDecodeLater = true
        state.loop.perform { [self] in
            isToDecodeLater = false
            useRoom()
            wakeIfMet()
        }
    }

    /// Decodes as much as the reader has made room for.
    func decodeMore() {
        guard decoder != nil, outcome == nil else { return }
        if stage == .over {
            finishDecoding()
            noteDecodedBytes()
        } else if !decode(), let failure {
            abort(failure)
        }
    }

    /// Decodes the remaining bytes after the connection's end, and ends the exchange once all of them are decoded.
    func finishDecoding() {
        _ = decode()
        if failure == nil, let decoder {
            guard decoder.isDrained else { return }
            do throws(LoadError) { try decoder.finish() } catch { failure = error }
        }
        outcome = .some(failure?.at(request.url))
    }
}
