import CCurl

extension Transfer {
    /// Sets the way out and the known addresses.
    ///
    /// - Throws: The error of the look-up of the addresses.
    func setNetwork(_ easy: CurlHandle) throws(LoadError) {
        if case .refused(let error) = addresses { throw error }
        let network = shared.value.network
        switch network.addressFamily {
        case .any: break
        case .ipv4: ccurl_set_long(easy, CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .ipv6: ccurl_set_long(easy, CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        }
        switch network.egress {
        case .automatic: break
        case .interface(let name): ccurl_set_string(easy, CURLOPT_INTERFACE, "if!" + name)
        case .address(let address): ccurl_set_string(easy, CURLOPT_INTERFACE, "host!\(address)")
        }
        ccurl_set_long(easy, CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, max(1, network.happyEyeballsDelay.wholeMilliseconds))
        for pin in network.pinnedAddresses where !pin.addresses.isEmpty {
            let addresses = pin.addresses.map { $0.isIPv6 ? "[\($0)]" : "\($0)" }.joined(separator: ",")
            addressList = curl_slist_append(addressList, "\(pin.host):\(pin.port):\(addresses)")
        }
        if let line = addresses.line { addressList = curl_slist_append(addressList, line) }
        if let addressList { ccurl_set_list(easy, CURLOPT_RESOLVE, addressList) }
    }
}
