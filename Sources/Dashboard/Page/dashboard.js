const answer = await fetch('/v1/files?page=200');
const list = document.getElementById('files');
for (const file of (await answer.json()).files) {
  const item = document.createElement('li');
  item.textContent = `${file.path}: ${file.state}`;
  list.append(item);
}
