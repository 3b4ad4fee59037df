import BellhopRules

/// The client's data in addition to the texts: Expo's `data`, which accepts values of every kind.
///
/// The first members are Bellhop's fields (``BellhopFields``), followed by the members of the event's `data` with
/// unchanged values. If a name occurs twice, the first member is used; `null` and empty names are left out. The
/// notification's id is included because Expo, too, may deliver twice.
struct ExpoData {
    let message: PushMessage

    /// Writes the members; `dataOmitted` marks that the event has data which are left out.
    ///
    /// After `most` bytes the rest is skipped, because the result will not be sent: an event may contain 256 KiB.
    func write(into json: inout JSONBytes, withOwnData: Bool, atMost most: Int) {
        BellhopFields(message: message, form: .values).write(into: &json, withMetadata: withOwnData)
        guard withOwnData else {
            if message.hasOwnData { json.add("dataOmitted", true) }
            return
        }
        guard message.wantsData else { return }
        let names = message.clientNames
        for member in message.data.members where isFree(member, names) {
            guard json.count <= most else { return }
            json.add(foreign: member.key, member.value)
        }
    }

    /// Returns whether a member may be written: it has a value, and its name is not one of Bellhop's.
    private func isFree(_ member: JSONObject.Member, _ names: ClientNames) -> Bool {
        member.value != .null && !member.key.isEmpty && !message.isOwnName(member.key, names)
    }
}
