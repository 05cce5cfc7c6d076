/// Can be told that there is something to do.
package protocol Notifiable: Sendable {
    func notify()
}
