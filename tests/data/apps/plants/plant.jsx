import {useEffect, useState} from 'react'
import {Link, useParams} from 'react-router-dom'

export default function Plant() {
  const {id} = useParams()
  const [plant, setPlant] = useState(null)
  useEffect(() => {
    fetch(`/api/plant/${id}.json`).then(answer => answer.json()).then(found => {
      document.title = found.name
      setPlant(found)
    })
  }, [id])
  return plant && <article><h1>{plant.name}</h1><p>{plant.text}</p><Link to="/">All plants</Link></article>
}
