package import BellhopRules
import Synchronization

/// The catalogues in force, which a reload replaces between two batches.
package final class CatalogSource: Sendable {
    private let state: Mutex<(catalogs: CatalogSet, refusal: String?)>

    package init(_ catalogs: CatalogSet) {
        state = Mutex((catalogs, nil))
    }

    package var current: CatalogSet {
        state.withLock(\.catalogs)
    }

    /// Why what was found on disk last is not in force; nil where it is.
    package var refusal: String? {
        state.withLock(\.refusal)
    }

    /// What was found on disk cannot be used.
    func refuse(because reason: String) {
        state.withLock { $0.refusal = reason }
    }

    /// Puts others into force; batches that have begun end with the ones they began with.
    func replace(_ others: CatalogSet) {
        state.withLock { $0 = (others, nil) }
    }
}
