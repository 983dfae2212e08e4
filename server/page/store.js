// Where conversations are kept: the browser's IndexedDB, of this origin alone.

const STORE = 'conversations';
let database;

function promised(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function open() {
  if (!database) {
    const request = indexedDB.open('weft', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'id' });
    database = promised(request);
  }
  return database;
}

async function store(mode) {
  return (await open()).transaction(STORE, mode).objectStore(STORE);
}

// All of them, the one that changed last first.
export async function loadAll() {
  const all = await promised((await store('readonly')).getAll());
  return all.sort((a, b) => b.updated - a.updated);
}

export async function save(conversation) {
  await promised((await store('readwrite')).put(conversation));
}

export async function remove(id) {
  await promised((await store('readwrite')).delete(id));
}
