extension DownloadTask {
    /// Whether the content came in a coding that has been undone, so that its bytes are not the server's.
    ///
    /// The cache keeps bodies without their coding.
    var isContentDecoded: Bool {
        guard let exchange = load.exchange else { return false }
        guard let transfer = exchange as? Transfer else { return exchange.response?.contentCoding.isEmpty == false }
        return transfer.decoder != nil
    }
}
