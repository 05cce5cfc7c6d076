import CCurl
import Glibc

// The callbacks of libcurl. Each form finds its transfer and asks it; nothing is decided here.

private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

func receiveHeaderLine(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let transfer = transfer(context) else { return 0 }
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer.received(headerLine: line) ? line.count : 0
}

func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let transfer = transfer(context) else { return 0 }
    return transfer.received(body: UnsafeRawBufferPointer(start: bytes, count: size * count))
}

func sendBody(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let transfer = transfer(context) else { return Int(CURL_READFUNC_ABORT) }
    return transfer.fillRequestBody(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
}

func rewindBody(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    guard let transfer = transfer(context), origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
    return transfer.rewindRequestBody(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

func prepareRequest(
    _ context: UnsafeMutableRawPointer?, _ address: UnsafeMutablePointer<CChar>?,
    _ localAddress: UnsafeMutablePointer<CChar>?, _ port: Int32, _ localPort: Int32
) -> Int32 {
    guard let transfer = transfer(context), let address, let localAddress else { return CURL_PREREQFUNC_ABORT }
    let maySend = transfer.willSendRequest(
        to: String(cString: address), port: port, from: String(cString: localAddress), localPort: localPort)
    return maySend ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

func readSentHead(
    _ easy: CurlHandle?, _ kind: curl_infotype, _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    // All else that libcurl tells when it is told to be verbose.
    guard kind == CURLINFO_HEADER_OUT, let transfer = transfer(context) else { return 0 }
    transfer.sent(head: UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}

func openSocket(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ target: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let transfer = transfer(context), let target, let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr)
    else { return curl_socket_t(-1) }
    let address = (UnsafeRawPointer(target) + offset).assumingMemoryBound(to: sockaddr.self)
    guard transfer.mayDial(IPAddress(sockaddr: address), port: port(of: address)) else { return curl_socket_t(-1) }
    let socket = transfer.partition.connections.open(
        target.pointee.family, target.pointee.socktype, target.pointee.protocol)
    guard socket >= 0 else {
        transfer.lacksDescriptor = [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno)
        return socket
    }
    transfer.sockets.append(socket)
    return socket
}

func closeSocket(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
    guard let context else { return close(socket) }
    return Unmanaged<ConnectionTable>.fromOpaque(context).takeUnretainedValue().close(socket)
}

/// The port stands at the same place in both families.
private func port(of address: UnsafePointer<sockaddr>) -> UInt16 {
    UInt16(bigEndian: UnsafeRawPointer(address).loadUnaligned(fromByteOffset: 2, as: UInt16.self))
}

// MARK: The multi handle

func socketChanged(
    _ easy: CurlHandle?, _ descriptor: curl_socket_t, _ what: Int32, _ context: UnsafeMutableRawPointer?,
    _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return -1 }
    Unmanaged<Partition>.fromOpaque(context).takeUnretainedValue().watch(descriptor, what, for: easy)
    return 0
}

func timerChanged(_ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?) -> Int32
{
    guard let context else { return -1 }
    Unmanaged<Partition>.fromOpaque(context).takeUnretainedValue().setTimer(milliseconds)
    return 0
}

func noteStream(_ context: UnsafeMutableRawPointer?, _ event: ccurl_stream_event, _ code: UInt32) {
    transfer(context)?.noteStream(event, code)
}
